"""The lints, one module for each family. Every lint is found by being here."""
