// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of order along an axis. Positions are integers and pass nothing back.

// A cotangent goes back to where its value came from.
// CHECK-LABEL: func.func @sort(
// CHECK: [[R:%.+]] = "qb.sort"(%arg0)
// CHECK: [[I:%.+]] = "qb.argsort"(%arg0)
// CHECK: [[P:%.+]] = "qb.reshape"([[I]])
// CHECK: [[C:%.+]] = "qb.scatter_nd_add"(%{{.+}}, [[P]], %arg1)
// CHECK: return [[R]], [[C]]
func.func @sort(%x: tensor<5xf64>) -> tensor<5xf64> {
  %0 = "qb.sort"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// Products only: nothing is divided by an element, which may be 0.
// CHECK-LABEL: func.func @cumprod(
// CHECK-NOT: qb.div
// CHECK: [[R:%.+]] = "qb.cumprod"(%arg0)
// CHECK: "qb.mul"
// CHECK: return [[R]], %{{.+}}
func.func @cumprod(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cumprod"(%x) {axis = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @argsort(
// CHECK: [[I:%.+]] = "qb.argsort"(%arg0
// CHECK: [[R:%.+]] = "qb.cast"([[I]])
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: return [[R]], [[Z]]
func.func @argsort(%x: tensor<5xf64>) -> tensor<5xf64> {
  %0 = "qb.argsort"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<5xi64>
  %1 = "qb.cast"(%0) : (tensor<5xi64>) -> tensor<5xf64>
  return %1 : tensor<5xf64>
}

// CHECK-LABEL: func.func @argmax(
// CHECK: [[I:%.+]] = "qb.argmax"(%arg0
// CHECK: [[R:%.+]] = "qb.cast"([[I]])
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: return [[R]], [[Z]]
func.func @argmax(%x: tensor<5xf64>) -> tensor<f64> {
  %0 = "qb.argmax"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  %1 = "qb.cast"(%0) : (tensor<i64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// CHECK-LABEL: func.func @argmin(
// CHECK: [[I:%.+]] = "qb.argmin"(%arg0
// CHECK: [[R:%.+]] = "qb.cast"([[I]])
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: return [[R]], [[Z]]
func.func @argmin(%x: tensor<5xf64>) -> tensor<f64> {
  %0 = "qb.argmin"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  %1 = "qb.cast"(%0) : (tensor<i64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// CHECK-LABEL: func.func @searchsorted(
// CHECK: [[I:%.+]] = "qb.searchsorted"(%arg0
// CHECK: [[R:%.+]] = "qb.cast"([[I]])
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<5xf64>}
// CHECK: return [[R]], [[Z]]
func.func @searchsorted(%a: tensor<5xf64>, %v: tensor<2xf64>) -> tensor<2xf64> {
  %0 = "qb.searchsorted"(%a, %v) {side = "left"} : (tensor<5xf64>, tensor<2xf64>) -> tensor<2xi64>
  %1 = "qb.cast"(%0) : (tensor<2xi64>) -> tensor<2xf64>
  return %1 : tensor<2xf64>
}

// CHECK-LABEL: func.func @floor_divide(
// CHECK: [[Q:%.+]] = "qb.floor_divide"(%arg1, %arg1)
// CHECK: [[F:%.+]] = "qb.cast"([[Q]])
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[F]])
// CHECK: [[C:%.+]] = "qb.mul"(%arg2, [[F]])
// CHECK: return [[R]], [[C]]
func.func @floor_divide(%x: tensor<3xf64>, %i: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.floor_divide"(%i, %i) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = "qb.cast"(%0) : (tensor<3xi64>) -> tensor<3xf64>
  %2 = "qb.mul"(%x, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}
