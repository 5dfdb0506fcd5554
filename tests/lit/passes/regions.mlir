// RUN: qb-opt %s --qb-simplify | filecheck %s
// RUN: qb-opt %s --loop-invariant-code-motion --cse --canonicalize --qb-simplify | filecheck %s

// A carry that no result needs goes, with all that it is computed from.
// CHECK-LABEL: func.func @dead_carry(
// CHECK: scf.for %{{.+}} = %c0 to %c5 step %c1 iter_args([[A:%.+]] = %arg0) -> (tensor<3xf64>) {
// CHECK-NEXT: [[S:%.+]] = "qb.sin"([[A]])
// CHECK-NEXT: scf.yield [[S]]
// CHECK-NOT: qb.exp
func.func @dead_carry(%x: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x, %b = %x) -> (tensor<3xf64>, tensor<3xf64>) {
    %0 = "qb.sin"(%a) : (tensor<3xf64>) -> tensor<3xf64>
    %1 = "qb.exp"(%b) : (tensor<3xf64>) -> tensor<3xf64>
    %2 = "qb.mul"(%1, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    scf.yield %0, %2 : tensor<3xf64>, tensor<3xf64>
  }
  return %r#0 : tensor<3xf64>
}

// What every iteration computes alike is computed once, before the loop, also where it needs a carry that never changes.
// CHECK-LABEL: func.func @invariant(
// CHECK: [[E:%.+]] = "qb.exp"(%arg1)
// CHECK: scf.for %{{.+}} = %c0 to %c5 step %c1 iter_args([[A:%.+]] = %arg0) -> (tensor<3xf64>) {
// CHECK-NEXT: [[M:%.+]] = "qb.mul"([[A]], [[E]])
// CHECK-NEXT: scf.yield [[M]]
func.func @invariant(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x, %b = %w) -> (tensor<3xf64>, tensor<3xf64>) {
    %0 = "qb.exp"(%b) : (tensor<3xf64>) -> tensor<3xf64>
    %1 = "qb.mul"(%a, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    scf.yield %1, %b : tensor<3xf64>, tensor<3xf64>
  }
  return %r#0 : tensor<3xf64>
}

// Constants from outside fold inside: 2 + 1 is 3, and equal ops are shared.
// CHECK-LABEL: func.func @constants(
// CHECK: scf.if
// CHECK-NEXT: [[THREE:%.+]] = "qb.constant"() {value = dense<3.000000e+00> : tensor<f64>}
// CHECK-NEXT: [[M:%.+]] = "qb.mul"(%arg1, [[THREE]])
// CHECK-NEXT: [[A:%.+]] = "qb.add"([[M]], [[M]])
// CHECK-NEXT: scf.yield [[A]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %arg1
func.func @constants(%p: tensor<i1>, %x: tensor<f64>) -> tensor<f64> {
  %one = "qb.constant"() {value = dense<1.0> : tensor<f64>} : () -> tensor<f64>
  %two = "qb.constant"() {value = dense<2.0> : tensor<f64>} : () -> tensor<f64>
  %q = tensor.extract %p[] : tensor<i1>
  %r = scf.if %q -> tensor<f64> {
    %0 = "qb.add"(%one, %two) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %1 = "qb.mul"(%x, %0) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %2 = "qb.mul"(%x, %0) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %3 = "qb.add"(%1, %2) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %3 : tensor<f64>
  } else {
    %4 = "qb.mul"(%x, %one) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %4 : tensor<f64>
  }
  return %r : tensor<f64>
}

// A loop that runs once is its body, with its counter's only value.
// CHECK-LABEL: func.func @once(
// CHECK-NEXT: [[FOUR:%.+]] = "qb.constant"() {value = dense<4.000000e+00> : tensor<f64>}
// CHECK-NEXT: [[M:%.+]] = "qb.mul"(%arg0, [[FOUR]])
// CHECK-NEXT: return [[M]]
func.func @once(%x: tensor<f64>) -> tensor<f64> {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c4 to %c5 step %c1 iter_args(%a = %x) -> tensor<f64> {
    %k = "qb.index"(%i) : (index) -> tensor<f64>
    %0 = "qb.mul"(%a, %k) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %0 : tensor<f64>
  }
  return %r : tensor<f64>
}
