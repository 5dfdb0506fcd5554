// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// What StableHLO has no op for becomes a custom call of the op's name, in float64.

// CHECK-LABEL: func.func public @solve(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.solve(%arg0, %arg1) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[X]] : tensor<3x2xf64>
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// Compiled code gives NaN and raises nothing, so both solvers are one call.
// CHECK-LABEL: func.func public @solve_or_nan(
// CHECK: stablehlo.custom_call @qb.solve(%arg0, %arg1) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
func.func @solve_or_nan(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_or_nan"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @solve_triangular(
// CHECK: [[X:%.+]] = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[X]] : tensor<3x2xf64>
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// StableHLO leaves open what is above the diagonal, and what there is for a matrix that is not positive definite: here
// zero, and NaN, which a pivot that is not positive leaves in the last one.
// CHECK-LABEL: func.func public @cholesky(
// CHECK: [[L:%.+]] = stablehlo.cholesky %arg0, lower = true : tensor<3x3xf64>
// CHECK: [[ROW:%.+]] = stablehlo.iota dim = 0
// CHECK: [[COLUMN:%.+]] = stablehlo.iota dim = 1
// CHECK: [[BELOW:%.+]] = stablehlo.compare GE, [[ROW]], [[COLUMN]]
// CHECK: [[FACTOR:%.+]] = stablehlo.select [[BELOW]], [[L]], {{%.+}}
// CHECK: [[LAST:%.+]] = stablehlo.slice [[FACTOR]] [2:3, 2:3]
// CHECK: [[PIVOT:%.+]] = stablehlo.broadcast_in_dim [[LAST]]
// CHECK: [[WRONG:%.+]] = stablehlo.compare NE, [[PIVOT]], [[PIVOT]]
// CHECK: [[SPOILED:%.+]] = stablehlo.and [[WRONG]], [[BELOW]]
// CHECK: [[NAN:%.+]] = stablehlo.constant dense<0x7FF8000000000000>
// CHECK: [[X:%.+]] = stablehlo.select [[SPOILED]], [[NAN]], [[FACTOR]]
// CHECK: return [[X]] : tensor<3x3xf64>
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func public @det_sign(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.det_sign(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: return [[X]] : tensor<f64>
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func public @log_abs_det(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.log_abs_det(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: return [[X]] : tensor<f64>
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func public @det(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.det(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: return [[X]] : tensor<f64>
func.func @det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// With a = u diag(s) v^T and t = u^T m v: det(u) det(v) u y v^T, where y[j, j] is the sum over i of p[i, j] t[i, i]
// and y[j, i] off the diagonal is -p[i, j] t[i, j]; p[i, j] is the product of all s but s[i] and s[j].
// CHECK-LABEL: func.func public @cofactors(
// CHECK: [[U:%.+]] = stablehlo.custom_call @qb.svd_u(%arg0)
// CHECK: [[VH:%.+]] = stablehlo.custom_call @qb.svd_vh(%arg0)
// CHECK: [[S:%.+]] = stablehlo.custom_call @qb.svd_s(%arg0)
// CHECK: [[P:%.+]] = stablehlo.reduce({{.*}} applies stablehlo.multiply across dimensions = [2]
// CHECK: [[Y1:%.+]] = stablehlo.add
// CHECK: [[OFF:%.+]] = stablehlo.transpose
// CHECK: [[Y:%.+]] = stablehlo.subtract [[Y1]], [[OFF]]
// CHECK: [[DETU:%.+]] = stablehlo.custom_call @qb.det_sign([[U]])
// CHECK: [[DETV:%.+]] = stablehlo.custom_call @qb.det_sign([[VH]])
// CHECK: [[SIDE:%.+]] = stablehlo.multiply [[DETU]], [[DETV]]
// CHECK: [[UY:%.+]] = stablehlo.dot_general [[U]], [[Y]]
// CHECK: [[UYVH:%.+]] = stablehlo.dot_general [[UY]], [[VH]]
func.func @cofactors(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cofactors"(%a, %b) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// 0 / 0 = 0: where both are zero the divisor is 1.
// CHECK-LABEL: func.func public @ratio(
// CHECK: [[XZERO:%.+]] = stablehlo.compare EQ, %arg0, {{%.+}}
// CHECK: [[GZERO:%.+]] = stablehlo.compare EQ, %arg1, {{%.+}}
// CHECK: [[BOTH:%.+]] = stablehlo.and [[XZERO]], [[GZERO]]
// CHECK: [[ONE:%.+]] = stablehlo.constant dense<1.000000e+00>
// CHECK: [[DIVISOR:%.+]] = stablehlo.select [[BOTH]], [[ONE]], %arg1
// CHECK: [[X:%.+]] = stablehlo.divide %arg0, [[DIVISOR]]
// CHECK: return [[X]] : tensor<3xf64>
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @eigh_values(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.eigh_values(%arg0) : (tensor<3x3xf64>) -> tensor<3xf64>
// CHECK: return [[X]] : tensor<3xf64>
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @eigh_vectors(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.eigh_vectors(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[X]] : tensor<3x3xf64>
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func public @qr_q(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.qr_q(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[X]] : tensor<3x2xf64>
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @qr_q_complete(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.qr_q_complete(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: return [[X]] : tensor<2x2xf64>
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @qr_r(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.qr_r(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[X]] : tensor<2x2xf64>
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @svd_s(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.svd_s(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: return [[X]] : tensor<2xf64>
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @svd_u(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.svd_u(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[X]] : tensor<3x2xf64>
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @svd_u_full(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.svd_u_full(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: return [[X]] : tensor<2x2xf64>
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @svd_vh(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.svd_vh(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[X]] : tensor<2x2xf64>
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @pinv(
// CHECK: [[X:%.+]] = stablehlo.custom_call @qb.pinv(%arg0, %arg1) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
// CHECK: return [[X]] : tensor<2x3xf64>
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
