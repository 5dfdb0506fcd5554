// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s
// RUN: qb-opt %s --pass-pipeline="builtin.module(func.func(qb-simplify))" --emit=text | filecheck %s --check-prefix=PLAIN

// A loop with static bounds carries the larger arrays.
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for %{{.+}} = %c0 to %c5 step %c1 iter_args([[A:%.+]] = %arg0) -> (tensor<4x3xf64>)
// CHECK: [[S:%.+]] = "qb.sin"([[A]]) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: "qb.mul"([[S]], %arg1)
func.func @loop(%x: tensor<3xf64>, %w: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x) -> tensor<3xf64> {
    %0 = "qb.sin"(%a) : (tensor<3xf64>) -> tensor<3xf64>
    %1 = "qb.mul"(%0, %w) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    scf.yield %1 : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// Each lane has a predicate of its own: both branches run, and each lane keeps its own one's result.
// CHECK-LABEL: func.func @choice(
// CHECK-NOT: scf.if
// CHECK-DAG: [[SIN:%.+]] = "qb.sin"(%arg1)
// CHECK-DAG: [[EXP:%.+]] = "qb.exp"(%arg1)
// CHECK-DAG: [[P:%.+]] = "qb.reshape"(%arg0) : (tensor<4xi1>) -> tensor<4x1xi1>
// CHECK: "qb.where"([[P]], [[SIN]], [[EXP]])
// PLAIN: cond(%0, %1) : tensor<3xf64> {
func.func @choice(%p: tensor<i1>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %q = tensor.extract %p[] : tensor<i1>
  %r = scf.if %q -> tensor<3xf64> {
    %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
    scf.yield %0 : tensor<3xf64>
  } else {
    %0 = "qb.exp"(%x) : (tensor<3xf64>) -> tensor<3xf64>
    scf.yield %0 : tensor<3xf64>
  }
  return %r : tensor<3xf64>
}

// The loop runs as long as any lane does, and a lane that has ended keeps its value.
// CHECK-LABEL: func.func @repeat(
// CHECK: scf.while ([[A:%.+]] = %arg0) : (tensor<4xf64>) -> tensor<4xf64> {
// CHECK: [[L:%.+]] = "qb.compare"([[A]], %arg1) {kind = "less"}
// CHECK: [[ANY:%.+]] = "qb.max"([[L]]) {axis = array<i64: 0>}
// CHECK: [[C:%.+]] = tensor.extract [[ANY]][] : tensor<i1>
// CHECK: scf.condition([[C]]) [[A]]
// CHECK: ^bb0([[B:%.+]]: tensor<4xf64>):
// CHECK-DAG: [[ON:%.+]] = "qb.compare"([[B]], %arg1) {kind = "less"}
// CHECK-DAG: [[NEXT:%.+]] = "qb.add"([[B]], [[B]])
// CHECK: [[KEPT:%.+]] = "qb.where"([[ON]], [[NEXT]], [[B]])
// CHECK: scf.yield [[KEPT]]
func.func @repeat(%x: tensor<f64>, %n: tensor<f64>) -> tensor<f64> {
  %r = scf.while (%a = %x) : (tensor<f64>) -> tensor<f64> {
    %0 = "qb.compare"(%a, %n) {kind = "less"} : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %q = tensor.extract %0[] : tensor<i1>
    scf.condition(%q) %a : tensor<f64>
  } do {
  ^bb0(%a: tensor<f64>):
    %0 = "qb.add"(%a, %a) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    scf.yield %0 : tensor<f64>
  }
  return %r : tensor<f64>
}
