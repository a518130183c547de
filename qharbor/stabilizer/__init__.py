"""The stabilizer-code benchmark from the command line: codes, bundles, reference solvers, scores of a folder of circuits, curves."""
