// RUN: qb-opt %s --qb-vmap=size=2 | filecheck %s

// A key for each example gives a stream for each; the rest is elementwise.

// CHECK-LABEL: func.func @random_words(
// CHECK: "qb.random_words"(%arg0) {shape = array<i64: 2, 3>} : (tensor<2xi64>) -> tensor<2x2x3xi64>
func.func @random_words(%k: tensor<i64>) -> tensor<2x3xi64> {
  %0 = "qb.random_words"(%k) {shape = array<i64: 2, 3>} : (tensor<i64>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}

// CHECK-LABEL: func.func @fold_in(
// CHECK: "qb.fold_in"(%arg0, %arg1) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
func.func @fold_in(%k: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {
  %0 = "qb.fold_in"(%k, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// CHECK-LABEL: func.func @fraction(
// CHECK: "qb.fraction"(%arg0) : (tensor<2x3xi64>) -> tensor<2x3xf64>
func.func @fraction(%w: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.fraction"(%w) : (tensor<3xi64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @gaussian(
// CHECK: "qb.gaussian"(%arg0) : (tensor<2x3xi64>) -> tensor<2x3xf64>
func.func @gaussian(%w: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.gaussian"(%w) : (tensor<3xi64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
