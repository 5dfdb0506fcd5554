// What cannot be read of scf is told with its place.
// RUN: not qb-opt %s --split-input-file --emit=text 2>&1 | filecheck %s

// CHECK: regions_errors.mlir:[[# @LINE + 5]]:11: error: cannot emit text: 'scf.for' op: the upper bound must be an arith.constant of type index
func.func @bound(%x: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r0 = scf.for %j = %c0 to %c1 step %c1 iter_args(%b = %x) -> tensor<f64> {
    %r1 = scf.for %i = %c0 to %j step %c1 iter_args(%a = %x) -> tensor<f64> {
      scf.yield %a : tensor<f64>
    }
    scf.yield %r1 : tensor<f64>
  }
  return %r0 : tensor<f64>
}

// -----

// CHECK: regions_errors.mlir:[[# @LINE + 4]]:8: error: cannot emit text: 'scf.for' op: the step must be 1, got 2
func.func @step(%x: tensor<f64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %r = scf.for %i = %c0 to %c2 step %c2 iter_args(%a = %x) -> tensor<f64> {
    scf.yield %a : tensor<f64>
  }
  return %r : tensor<f64>
}

// -----

// CHECK: regions_errors.mlir:[[# @LINE + 2]]:8: error: cannot emit text: 'scf.while' op: the attribute 'qb.bound' must be a positive integer, got 0 : index
func.func @promise(%x: tensor<f64>, %p: tensor<i1>) -> tensor<f64> {
  %r = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    %q = tensor.extract %p[] : tensor<i1>
    scf.condition(%q) %a : tensor<f64>
  } do {
  ^bb0(%a: tensor<f64>):
    %0 = "qb.add"(%a, %a) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %0 : tensor<f64>
  } attributes {qb.bound = 0 : index}
  return %r : tensor<f64>
}
