"""The text form of a graph, as ``as_text()`` prints it, and its parser.

One line for each value, arguments first, and the results' shapes at the end::

    %0 = input[name=params/w] : tensor<2x1xf64>
    %1 = input[name=x] : tensor<3x2xf64>
    %2 = matmul(%1, %0) : tensor<3x1xf64>
    %3 = sum(%2, axis=0) : tensor<1xf64>
    outputs: [[1]]

The results are the values that no op uses, in order (the arguments, where there are no ops). A graph with other
results has them on a line before the last: ``returns: %4, %2``. The parser also takes comments, from ``//`` to
the end of a line, empty lines, and any names of letters, digits and ``_.`` after ``%``.

An op with regions has several results, and its bodies are indented in braces. Its captured values are its last
operands, and its bodies use them by their names; any other value from outside is out of reach. A body names its own
arguments first, a loop's counter and carries, and returns with ``yield``::

    %2, %3 = fori(%0, %0, %1, lower=0, upper=5) : tensor<3xf64>, tensor<3xf64> {
      args: %4 : tensor<f64>, %5 : tensor<3xf64>, %6 : tensor<3xf64>
      %7 = mul(%5, %1) : tensor<3xf64>
      %8 = add(%6, %7) : tensor<3xf64>
      yield %7, %8
    }
    %9 = cond(%1, %2, %3) : tensor<3xf64> {
      yield %2
    } else {
      %10 = neg(%3) : tensor<3xf64>
      yield %10
    }

``while`` has two bodies with ``} do {`` between: a test that yields one bool, and the step. With ``bound=5`` among its
operands it runs five times at most, which reverse mode has to know.

Numbers are the shortest that give the same bits in their dtype. A constant whose elements are all equal is
written as one number, another as nested lists; bools are 0 and 1; NaNs other than ``nan`` carry their bits,
``nan(0x7ff8000000000001)``.
"""

from __future__ import annotations

from quabla.dialect.parser import parse
from quabla.dialect.printer import as_text

__all__ = ["as_text", "parse"]
