"""Physics that several hardware types share. Plain functions on arrays and circuits."""
