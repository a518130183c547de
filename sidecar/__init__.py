"""The hidden side of the laboratory: surface, admission, jobs and backends over one `Lab`."""
