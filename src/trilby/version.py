"""The version of Trilby, for what must not wait for the metadata of the installation."""

VERSION = "0.1.0"
