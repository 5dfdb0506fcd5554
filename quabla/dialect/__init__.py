"""The qb dialect and the two written forms of a graph: MLIR and text.

``definition`` generates the dialect from the op registry; ``writer`` and ``reader`` go from graphs to MLIR and back,
``text`` to and from the text that ``as_text()`` prints. Nothing is imported here: the text form needs no MLIR.
"""
