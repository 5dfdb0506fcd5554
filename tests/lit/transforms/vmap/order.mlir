// RUN: qb-opt %s --qb-vmap=size=2 | filecheck %s

// Each lane is ordered on its own, along the next axis.

// CHECK-LABEL: func.func @sort(
// CHECK: [[R:%.+]] = "qb.sort"(%arg0) {axis = 1 : i64} : (tensor<2x
func.func @sort(%x: tensor<5xf64>) -> tensor<5xf64> {
  %0 = "qb.sort"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<5xf64>
  return %0 : tensor<5xf64>
}

// CHECK-LABEL: func.func @cumprod(
// CHECK: [[R:%.+]] = "qb.cumprod"(%arg0) {axis = 1 : i64} : (tensor<2x
func.func @cumprod(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cumprod"(%x) {axis = 0 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @argsort(
// CHECK: [[R:%.+]] = "qb.argsort"(%arg0) {axis = 1 : i64} : (tensor<2x
func.func @argsort(%x: tensor<5xf64>) -> tensor<5xf64> {
  %0 = "qb.argsort"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<5xi64>
  %1 = "qb.cast"(%0) : (tensor<5xi64>) -> tensor<5xf64>
  return %1 : tensor<5xf64>
}

// CHECK-LABEL: func.func @argmax(
// CHECK: [[R:%.+]] = "qb.argmax"(%arg0) {axis = 1 : i64} : (tensor<2x
func.func @argmax(%x: tensor<5xf64>) -> tensor<f64> {
  %0 = "qb.argmax"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  %1 = "qb.cast"(%0) : (tensor<i64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// CHECK-LABEL: func.func @argmin(
// CHECK: [[R:%.+]] = "qb.argmin"(%arg0) {axis = 1 : i64} : (tensor<2x
func.func @argmin(%x: tensor<5xf64>) -> tensor<f64> {
  %0 = "qb.argmin"(%x) {axis = 0 : i64} : (tensor<5xf64>) -> tensor<i64>
  %1 = "qb.cast"(%0) : (tensor<i64>) -> tensor<f64>
  return %1 : tensor<f64>
}

// Where each lane has a sorted array of its own, what comes before is counted.
// CHECK-LABEL: func.func @searchsorted(
// CHECK: [[A:%.+]] = "qb.reshape"(%arg0) : (tensor<2x5xf64>) -> tensor<2x1x5xf64>
// CHECK: [[V:%.+]] = "qb.reshape"(%arg1) : (tensor<2x2xf64>) -> tensor<2x2x1xf64>
// CHECK: "qb.compare"([[A]], [[V]]) {kind = "less"} : (tensor<2x1x5xf64>, tensor<2x2x1xf64>) -> tensor<2x2x5xi1>
// CHECK: "qb.sum"(%{{.+}}) {axis = array<i64: 2>} : (tensor<2x2x5xi64>) -> tensor<2x2xi64>
func.func @searchsorted(%a: tensor<5xf64>, %v: tensor<2xf64>) -> tensor<2xf64> {
  %0 = "qb.searchsorted"(%a, %v) {side = "left"} : (tensor<5xf64>, tensor<2xf64>) -> tensor<2xi64>
  %1 = "qb.cast"(%0) : (tensor<2xi64>) -> tensor<2xf64>
  return %1 : tensor<2xf64>
}

// CHECK-LABEL: func.func @floor_divide(
// CHECK: "qb.floor_divide"(%arg1, %arg1) : (tensor<2x3xi64>, tensor<2x3xi64>) -> tensor<2x3xi64>
func.func @floor_divide(%x: tensor<3xf64>, %i: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.floor_divide"(%i, %i) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = "qb.cast"(%0) : (tensor<3xi64>) -> tensor<3xf64>
  %2 = "qb.mul"(%x, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}
