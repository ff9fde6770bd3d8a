"""The peers of `bench/kernels.py`: one file for each, with the same kernels in its own words."""
