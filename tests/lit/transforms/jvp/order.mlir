// RUN: qb-opt %s --qb-jvp=wrt=0 | filecheck %s

// Forward mode of order along an axis. Positions are integers and do not move.

// The tangents go where the values go.
// CHECK-LABEL: func.func @sort(
// CHECK: [[R:%.+]] = "qb.sort"(%arg0)
// CHECK: [[I:%.+]] = "qb.argsort"(%arg0)
// CHECK: [[P:%.+]] = "qb.reshape"([[I]])
// CHECK: [[T:%.+]] = "qb.gather_nd"(%arg1, [[P]])
// CHECK: return [[R]], [[T]]
func.func @sort(%x: tensor<5xf64>) -> tensor<5xf64> {
  %0 = "qb.sort"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// d(x0 x1) = dx0 x1 + dx1 x0, and then d(x0 x1 x2) from that and x2, dx2.
// CHECK-LABEL: func.func @cumprod(
// CHECK: [[R:%.+]] = "qb.cumprod"(%arg0)
// CHECK-DAG: [[X0:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 1 : i64, start = 0 : i64
// CHECK-DAG: [[X1:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 1 : i64, start = 1 : i64
// CHECK-DAG: [[D0:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 1 : i64, start = 0 : i64
// CHECK-DAG: [[D1:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 1 : i64, start = 1 : i64
// CHECK-DAG: [[X01:%.+]] = "qb.mul"([[X0]], [[X1]])
// CHECK-DAG: [[A:%.+]] = "qb.mul"([[D0]], [[X1]])
// CHECK-DAG: [[B:%.+]] = "qb.mul"([[D1]], [[X0]])
// CHECK: [[D01:%.+]] = "qb.add"([[A]], [[B]])
// CHECK-DAG: [[X2:%.+]] = "qb.slice"(%arg0) {axis = 0 : i64, length = 1 : i64, start = 2 : i64
// CHECK-DAG: [[D2:%.+]] = "qb.slice"(%arg1) {axis = 0 : i64, length = 1 : i64, start = 2 : i64
// CHECK-DAG: [[C:%.+]] = "qb.mul"([[D01]], [[X2]])
// CHECK-DAG: [[E:%.+]] = "qb.mul"([[D2]], [[X01]])
// CHECK: [[D012:%.+]] = "qb.add"([[C]], [[E]])
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
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: return [[R]], [[Z]]
func.func @argmax(%x: tensor<5xf64>) -> tensor<f64> {
  %0 = "qb.argmax"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  %1 = "qb.cast"(%0) : (tensor<i64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// CHECK-LABEL: func.func @argmin(
// CHECK: [[I:%.+]] = "qb.argmin"(%arg0
// CHECK: [[R:%.+]] = "qb.cast"([[I]])
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: return [[R]], [[Z]]
func.func @argmin(%x: tensor<5xf64>) -> tensor<f64> {
  %0 = "qb.argmin"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  %1 = "qb.cast"(%0) : (tensor<i64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// CHECK-LABEL: func.func @searchsorted(
// CHECK: [[I:%.+]] = "qb.searchsorted"(%arg0
// CHECK: [[R:%.+]] = "qb.cast"([[I]])
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<2xf64>}
// CHECK: return [[R]], [[Z]]
func.func @searchsorted(%a: tensor<5xf64>, %v: tensor<2xf64>) -> tensor<2xf64> {
  %0 = "qb.searchsorted"(%a, %v) {side = "left"} : (tensor<5xf64>, tensor<2xf64>) -> tensor<2xi64>
  %1 = "qb.cast"(%0) : (tensor<2xi64>) -> tensor<2xf64>
  return %1 : tensor<2xf64>
}

// An integer is a constant factor.
// CHECK-LABEL: func.func @floor_divide(
// CHECK: [[Q:%.+]] = "qb.floor_divide"(%arg1, %arg1)
// CHECK: [[F:%.+]] = "qb.cast"([[Q]])
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[F]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg2, [[F]])
// CHECK: return [[R]], [[T]]
func.func @floor_divide(%x: tensor<3xf64>, %i: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.floor_divide"(%i, %i) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = "qb.cast"(%0) : (tensor<3xi64>) -> tensor<3xf64>
  %2 = "qb.mul"(%x, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}
