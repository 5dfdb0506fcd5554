// RUN: qb-opt %s --convert-qb-to-stablehlo --cse --stablehlo-legalize-to-linalg | filecheck %s --check-prefix=LINALG
// RUN: qb-opt %s --convert-qb-to-stablehlo --stablehlo-exact-f32 | filecheck %s --check-prefix=EXACT

// Passes of this package and of MLIR in one pipeline.

// LINALG-LABEL: func.func public @f(
// LINALG: linalg.{{generic|map}}
// LINALG: math.tanh
// LINALG-NOT: stablehlo

// tanh of a float32 number is the float64 result rounded once; a product needs no widening.
// EXACT-LABEL: func.func public @f(
// EXACT: [[W:%.+]] = stablehlo.convert %arg0 : (tensor<3xf32>) -> tensor<3xf64>
// EXACT: [[T:%.+]] = stablehlo.tanh [[W]] : tensor<3xf64>
// EXACT: [[N:%.+]] = stablehlo.convert [[T]] : (tensor<3xf64>) -> tensor<3xf32>
// EXACT: stablehlo.multiply [[N]], %arg0 : tensor<3xf32>
func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "qb.tanh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "qb.mul"(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}
