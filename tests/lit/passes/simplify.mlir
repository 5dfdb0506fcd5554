// RUN: qb-opt %s --qb-simplify | filecheck %s

// Equal ops become one, dead ones go, and folding rules apply.

// CHECK-LABEL: func.func @shares(
// CHECK-NEXT: [[S:%.+]] = "qb.sin"(%arg0)
// CHECK-NEXT: [[M:%.+]] = "qb.mul"([[S]], [[S]])
// CHECK-NEXT: return [[M]]
func.func @shares(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %1 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %2 = "qb.cos"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  %3 = "qb.mul"(%0, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %3 : tensor<3xf64>
}

// CHECK-LABEL: func.func @times_one(
// CHECK-NEXT: return %arg0
func.func @times_one(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.constant"() {value = dense<1.0> : tensor<3xf64>} : () -> tensor<3xf64>
  %1 = "qb.mul"(%x, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}

// x + 0 is not x for x = -0, and x * 0 is not 0 for infinities and NaN: both stay.
// CHECK-LABEL: func.func @keeps_zeros(
// CHECK: "qb.add"
// CHECK: "qb.mul"
func.func @keeps_zeros(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
  %0 = "qb.constant"() {value = dense<0.0> : tensor<3xf64>} : () -> tensor<3xf64>
  %1 = "qb.add"(%x, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %2 = "qb.mul"(%x, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1, %2 : tensor<3xf64>, tensor<3xf64>
}

// CHECK-LABEL: func.func @transposes(
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = "qb.transpose"(%x) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
  %1 = "qb.transpose"(%0) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
  return %1 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func @reshapes(
// CHECK-NEXT: [[R:%.+]] = "qb.reshape"(%arg0) : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK-NEXT: return [[R]]
func.func @reshapes(%x: tensor<2x3xf64>) -> tensor<3x2xf64> {
  %0 = "qb.reshape"(%x) : (tensor<2x3xf64>) -> tensor<6xf64>
  %1 = "qb.reshape"(%0) : (tensor<6xf64>) -> tensor<3x2xf64>
  return %1 : tensor<3x2xf64>
}
