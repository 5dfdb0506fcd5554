"""Iterative solvers: linear systems without a matrix, and roots of functions."""
