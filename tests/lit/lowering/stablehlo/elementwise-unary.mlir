// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// CHECK-LABEL: func.func public @neg(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.negate %[[X]] : tensor<4xf64>
func.func @neg(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.neg"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @abs(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.abs %[[X]] : tensor<4xf64>
func.func @abs(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.abs"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @floor(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.floor %[[X]] : tensor<4xf64>
func.func @floor(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.floor"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @ceil(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.ceil %[[X]] : tensor<4xf64>
func.func @ceil(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.ceil"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @round(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.round_nearest_even %[[X]] : tensor<4xf64>
func.func @round(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.round"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sqrt(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.sqrt %[[X]] : tensor<4xf64>
func.func @sqrt(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.sqrt"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @rsqrt(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.rsqrt %[[X]] : tensor<4xf64>
func.func @rsqrt(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.rsqrt"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @cbrt(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.cbrt %[[X]] : tensor<4xf64>
func.func @cbrt(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.cbrt"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sin(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.sine %[[X]] : tensor<4xf64>
func.func @sin(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.sin"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @cos(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.cosine %[[X]] : tensor<4xf64>
func.func @cos(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.cos"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @tan(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.tan %[[X]] : tensor<4xf64>
func.func @tan(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.tan"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @tanh(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.tanh %[[X]] : tensor<4xf64>
func.func @tanh(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.tanh"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @exp(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.exponential %[[X]] : tensor<4xf64>
func.func @exp(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.exp"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @expm1(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.exponential_minus_one %[[X]] : tensor<4xf64>
func.func @expm1(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.expm1"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @log(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.log %[[X]] : tensor<4xf64>
func.func @log(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.log"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @log1p(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.log_plus_one %[[X]] : tensor<4xf64>
func.func @log1p(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.log1p"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @logistic(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.logistic %[[X]] : tensor<4xf64>
func.func @logistic(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.logistic"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// CHECK-LABEL: func.func public @sign(
// CHECK-SAME: %[[X:.*]]: tensor<4xf64>
// CHECK: stablehlo.sign %[[X]] : tensor<4xf64>
func.func @sign(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = "qb.sign"(%x) : (tensor<4xf64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
