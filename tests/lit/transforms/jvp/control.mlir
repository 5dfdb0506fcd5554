// RUN: qb-opt %s --qb-jvp | filecheck %s

// Forward mode of loops and choices: tangents are carried beside the values.

// a' = sin(a) w, so da' = w cos(a) da + sin(a) dw.
// CHECK-LABEL: func.func @loop(
// CHECK: [[R:%.+]]:2 = scf.for %{{.+}} = %c0 to %c5 step %c1 iter_args([[A:%.+]] = %arg0, [[DA:%.+]] = %arg2)
// CHECK-DAG: [[S:%.+]] = "qb.sin"([[A]])
// CHECK-DAG: [[C:%.+]] = "qb.cos"([[A]])
// CHECK-DAG: [[DS:%.+]] = "qb.mul"([[DA]], [[C]])
// CHECK-DAG: [[NEXT:%.+]] = "qb.mul"([[S]], %arg1)
// CHECK-DAG: [[FIRST:%.+]] = "qb.mul"([[DS]], %arg1)
// CHECK-DAG: [[SECOND:%.+]] = "qb.mul"(%arg3, [[S]])
// CHECK-DAG: [[D:%.+]] = "qb.add"([[FIRST]], [[SECOND]])
// CHECK: scf.yield [[NEXT]], [[D]]
// CHECK: return [[R]]#0, [[R]]#1
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

// CHECK-LABEL: func.func @choice(
// CHECK: [[R:%.+]]:2 = scf.if
// CHECK-DAG: [[SIN:%.+]] = "qb.sin"(%arg1)
// CHECK-DAG: [[COS:%.+]] = "qb.cos"(%arg1)
// CHECK-DAG: [[T:%.+]] = "qb.mul"(%arg2, [[COS]])
// CHECK: scf.yield [[SIN]], [[T]]
// CHECK: } else {
// CHECK: [[EXP:%.+]] = "qb.exp"(%arg1)
// CHECK: [[F:%.+]] = "qb.mul"(%arg2, [[EXP]])
// CHECK: scf.yield [[EXP]], [[F]]
// CHECK: return [[R]]#0, [[R]]#1
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

// The test reads the value alone; 2 a has the tangent 2 da, written a + a and da + da.
// CHECK-LABEL: func.func @repeat(
// CHECK: [[R:%.+]]:2 = scf.while ([[A:%.+]] = %arg0, [[DA:%.+]] = %arg2)
// CHECK: [[L:%.+]] = "qb.compare"([[A]], %arg1) {kind = "less"}
// CHECK: scf.condition(%{{.+}}) [[A]], [[DA]]
// CHECK: ^bb0([[B:%.+]]: tensor<f64>, [[DB:%.+]]: tensor<f64>):
// CHECK-DAG: [[V:%.+]] = "qb.add"([[B]], [[B]])
// CHECK-DAG: [[DV:%.+]] = "qb.add"([[DB]], [[DB]])
// CHECK: scf.yield [[V]], [[DV]]
// CHECK: return [[R]]#0, [[R]]#1
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
