// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// SplitMix64: the word with index i of key s is the hash of s + (i + 1) g. The hash is an exclusive or with the word shifted by
// 30, 27 and 31 bits; a product follows the first two.
// CHECK-LABEL: func.func public @random_words(
// CHECK: [[I:%.+]] = stablehlo.iota dim = 0 : tensor<6xi64>
// CHECK: [[ONE:%.+]] = stablehlo.constant dense<1> : tensor<6xi64>
// CHECK: [[N:%.+]] = stablehlo.add [[I]], [[ONE]]
// CHECK: [[G:%.+]] = stablehlo.constant dense<-7046029254386353131> : tensor<6xi64>
// CHECK: [[C:%.+]] = stablehlo.multiply [[N]], [[G]]
// CHECK: [[Z:%.+]] = stablehlo.add [[C]], %{{.+}}
// CHECK: [[A:%.+]] = stablehlo.shift_right_logical [[Z]], %{{.+}}
// CHECK: [[B:%.+]] = stablehlo.xor [[Z]], [[A]]
// CHECK: [[D:%.+]] = stablehlo.multiply [[B]], %{{.+}}
// CHECK: [[E:%.+]] = stablehlo.shift_right_logical [[D]], %{{.+}}
// CHECK: [[F:%.+]] = stablehlo.xor [[D]], [[E]]
// CHECK: [[H:%.+]] = stablehlo.multiply [[F]], %{{.+}}
// CHECK: [[K:%.+]] = stablehlo.shift_right_logical [[H]], %{{.+}}
// CHECK: [[W:%.+]] = stablehlo.xor [[H]], [[K]]
// CHECK: stablehlo.reshape [[W]] : (tensor<6xi64>) -> tensor<2x3xi64>
func.func @random_words(%k: tensor<i64>) -> tensor<2x3xi64> {
  %0 = "qb.random_words"(%k) {shape = array<i64: 2, 3>} : (tensor<i64>) -> tensor<2x3xi64>
  return %0 : tensor<2x3xi64>
}

// CHECK-LABEL: func.func public @fold_in(
// CHECK-COUNT-2: stablehlo.multiply
// CHECK: stablehlo.xor
// CHECK: stablehlo.add
func.func @fold_in(%k: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {
  %0 = "qb.fold_in"(%k, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

// The highest 53 bits, times 2**-53.
// CHECK-LABEL: func.func public @fraction(
// CHECK: [[B:%.+]] = stablehlo.shift_right_logical %arg0, %{{.+}}
// CHECK: [[F:%.+]] = stablehlo.convert [[B]] : (tensor<3xi64>) -> tensor<3xf64>
// CHECK: [[S:%.+]] = stablehlo.constant dense<1.1102230246251565E-16> : tensor<3xf64>
// CHECK: stablehlo.multiply [[F]], [[S]]
func.func @fraction(%w: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.fraction"(%w) : (tensor<3xi64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @gaussian(
// CHECK: stablehlo.composite "qb.gaussian" %arg0 {{.*}}decomposition = @qb.gaussian{{.*}} : (tensor<3xi64>) -> tensor<3xf64>
func.func @gaussian(%w: tensor<3xi64>) -> tensor<3xf64> {
  %0 = "qb.gaussian"(%w) : (tensor<3xi64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
