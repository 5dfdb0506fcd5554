// What cannot be read as a graph is told with its place.
// RUN: not qb-opt %s --split-input-file --emit=text 2>&1 | filecheck %s

// CHECK: reader_errors.mlir:[[# @LINE + 2]]:8: error: cannot emit text: 'arith.addf' is not a qb op: only qb ops can be read, with tensor.cast and func.return
func.func @other_dialect(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = arith.addf %x, %x : tensor<2xf64>
  return %0 : tensor<2xf64>
}

// -----

// CHECK: error: cannot emit text: argument 0: expected a tensor of static shape, got tensor<?xf64>
func.func @dynamic(%x: tensor<?xf64>) {
  return
}

// -----

// CHECK: error: cannot emit text: function 'declared' must have a body of one block, got 0 blocks
func.func private @declared()

// -----

// CHECK: error: cannot emit text: function 'branches' must have a body of one block, got 2 blocks
func.func @branches() {
  cf.br ^end
^end:
  return
}
