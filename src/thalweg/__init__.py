"""Thalweg runs continuous SQL on Spark, and takes the path of least cost."""

__version__ = "0.1.0"
