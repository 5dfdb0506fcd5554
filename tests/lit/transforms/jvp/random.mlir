// RUN: qb-opt %s --qb-jvp=wrt=0 | filecheck %s

// Words and samples have no derivative: a product with samples moves with its other factor alone.

// CHECK-LABEL: func.func @random_words(
// CHECK: [[S:%.+]] = "qb.gaussian"(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg2, [[S]])
// CHECK: return [[R]], [[T]] : tensor<3xf64>, tensor<3xf64>
func.func @random_words(%x: tensor<3xf64>, %k: tensor<i64>) -> tensor<3xf64> {
  %0 = "qb.random_words"(%k) {shape = array<i64: 3>} : (tensor<i64>) -> tensor<3xi64>
  %1 = "qb.gaussian"(%0) : (tensor<3xi64>) -> tensor<3xf64>
  %2 = "qb.mul"(%x, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}

// CHECK-LABEL: func.func @fold_in(
// CHECK: [[S:%.+]] = "qb.fraction"(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg3, [[S]])
// CHECK: return [[R]], [[T]] : tensor<3xf64>, tensor<3xf64>
func.func @fold_in(%x: tensor<3xf64>, %k: tensor<3xi64>, %n: tensor<i64>) -> tensor<3xf64> {
  %0 = "qb.fold_in"(%k, %n) : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
  %1 = "qb.fraction"(%0) : (tensor<3xi64>) -> tensor<3xf64>
  %2 = "qb.mul"(%x, %1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %2 : tensor<3xf64>
}

// CHECK-LABEL: func.func @fraction(
// CHECK: [[S:%.+]] = "qb.fraction"(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg2, [[S]])
// CHECK: return [[R]], [[T]] : tensor<3xf64>, tensor<3xf64>
func.func @fraction(%x: tensor<3xf64>, %w: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.fraction"(%w) : (tensor<3xi64>) -> tensor<3xf64>
  %1 = "qb.mul"(%x, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}

// CHECK-LABEL: func.func @gaussian(
// CHECK: [[S:%.+]] = "qb.gaussian"(
// CHECK: [[R:%.+]] = "qb.mul"(%arg0, [[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg2, [[S]])
// CHECK: return [[R]], [[T]] : tensor<3xf64>, tensor<3xf64>
func.func @gaussian(%x: tensor<3xf64>, %w: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.gaussian"(%w) : (tensor<3xi64>) -> tensor<3xf64>
  %1 = "qb.mul"(%x, %0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %1 : tensor<3xf64>
}
