// RUN: qb-opt %s --cse | filecheck %s --check-prefixes=CHECK,CSE
// RUN: qb-opt %s --canonicalize | filecheck %s --check-prefixes=CHECK,DEAD
// RUN: qb-opt %s --trivial-dce | filecheck %s --check-prefixes=CHECK,DEAD
// RUN: qb-opt %s --loop-invariant-code-motion --symbol-dce | filecheck %s --check-prefix=LICM

// qb ops are pure, so MLIR's own passes share, remove and hoist them.

// CHECK-LABEL: func.func @shares(
// CSE-NEXT: [[S:%.+]] = "qb.sin"(%arg0)
// CSE-NEXT: [[M:%.+]] = "qb.mul"([[S]], [[S]])
// CSE-NEXT: return [[M]]
// DEAD-NEXT: [[A:%.+]] = "qb.sin"(%arg0)
// DEAD-NEXT: [[B:%.+]] = "qb.sin"(%arg0)
// DEAD-NEXT: [[M:%.+]] = "qb.mul"([[A]], [[B]])
// DEAD-NEXT: return [[M]]
func.func @shares(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %1 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %2 = "qb.cos"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %3 = "qb.mul"(%0, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %3 : tensor<3xf64>
}

// Attributes tell ops apart.
// CHECK-LABEL: func.func @differ(
// CSE: "qb.sum"(%arg0) {axis = array<i64: 0>}
// CSE: "qb.sum"(%arg0) {axis = array<i64: 1>}
func.func @differ(%x: tensor<3x3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = "qb.sum"(%x) {axis = array<i64: 0>} : (tensor<3x3xf64>) -> tensor<3xf64>
  %1 = "qb.sum"(%x) {axis = array<i64: 1>} : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0, %1 : tensor<3xf64>, tensor<3xf64>
}

// LICM-LABEL: func.func @loop(
// LICM: [[E:%.+]] = "qb.exp"(%arg0)
// LICM: scf.for
// LICM: "qb.mul"(%{{.+}}, [[E]])
func.func @loop(%x: tensor<3xf64>, %n: index) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %x) -> tensor<3xf64> {
    %e = "qb.exp"(%x) : (tensor<3xf64>) -> tensor<3xf64>
    %p = "qb.mul"(%acc, %e) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    scf.yield %p : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// LICM-NOT: @unused
func.func private @unused(%x: tensor<f64>) -> tensor<f64> {
  return %x : tensor<f64>
}
