// RUN: qb-opt %s --split-input-file --verify-diagnostics --qb-vjp=wrt=1
// RUN: not qb-opt %s --split-input-file --qb-vmap="size=2 in-axes=0,0" 2>&1 | filecheck %s --check-prefix=AXES
// RUN: not qb-opt %s --qb-vjp=wrt=-1 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not qb-opt %s --qb-vmap 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: not qb-opt %s --qb-vmap="size=2 in-axes=1" 2>&1 | filecheck %s --check-prefix=FIRST

// AXES: invalid.mlir:14:1: error: qb-vmap: in-axes: needs an entry for each argument, 1 of them, got 2
// AXES-NEXT: func.func @one(
// AXES-NEXT: {{^\^$}}
// NEGATIVE: option 'wrt' of 'qb-vjp' must be non-negative integers with commas between, got '-1'
// SIZE: 'qb-vmap' needs the option 'size': the extent of the mapped axis
// FIRST: option 'in-axes' of 'qb-vmap' must be 0 or none for each argument, with commas between, got '1'
// expected-error@below {{qb-vjp: wrt=1: there is no such argument, the first of 1 is 0}}
func.func @one(%x: tensor<f64>) -> tensor<f64> {
  return %x : tensor<f64>
}

// -----

// expected-error@below {{qb-vjp: wrt=1: the argument is a tensor<i1>, which has no derivative}}
func.func @mask(%x: tensor<f64>, %p: tensor<i1>) -> tensor<f64> {
  return %x : tensor<f64>
}

// -----

func.func @other(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {
  // expected-error@below {{qb-vjp: 'arith.addf' is not a qb op}}
  %0 = arith.addf %x, %y : tensor<f64>
  return %0 : tensor<f64>
}
