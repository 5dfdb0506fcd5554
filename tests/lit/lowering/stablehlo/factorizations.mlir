// RUN: qb-opt %s --convert-qb-to-stablehlo | filecheck %s

// What StableHLO has no op for becomes a custom call of the op's name, in float64.

// CHECK-LABEL: func.func public @solve(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.solve(%arg0, %arg1) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]] : tensor<3x2xf64>
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @solve_triangular(
// CHECK: [[V0:%.+]] = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]] : tensor<3x2xf64>
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @cholesky(
// CHECK: [[V0:%.+]] = stablehlo.cholesky %arg0, lower = true : tensor<3x3xf64>
// CHECK: [[V1:%.+]] = stablehlo.iota dim = 0 : tensor<3x3xf64>
// CHECK: [[V2:%.+]] = stablehlo.iota dim = 1 : tensor<3x3xf64>
// CHECK: [[V3:%.+]] = stablehlo.compare GE, [[V1]], [[V2]] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xi1>
// CHECK: [[V4:%.+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x3xf64>
// CHECK: [[V5:%.+]] = stablehlo.select [[V3]], [[V0]], [[V4]] : tensor<3x3xi1>, tensor<3x3xf64>
// CHECK: [[V6:%.+]] = stablehlo.slice [[V5]] [2:3, 2:3] : (tensor<3x3xf64>) -> tensor<1x1xf64>
// CHECK: [[V7:%.+]] = stablehlo.broadcast_in_dim [[V6]], dims = [0, 1] : (tensor<1x1xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = stablehlo.compare NE, [[V7]], [[V7]] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xi1>
// CHECK: [[V9:%.+]] = stablehlo.and [[V8]], [[V3]] : tensor<3x3xi1>
// CHECK: [[V10:%.+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<3x3xf64>
// CHECK: [[V11:%.+]] = stablehlo.select [[V9]], [[V10]], [[V5]] : tensor<3x3xi1>, tensor<3x3xf64>
// CHECK: return [[V11]] : tensor<3x3xf64>
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func public @det_sign(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.det_sign(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: return [[V0]] : tensor<f64>
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func public @log_abs_det(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.log_abs_det(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: return [[V0]] : tensor<f64>
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func public @ratio(
// CHECK: [[V0:%.+]] = stablehlo.constant dense<0.000000e+00> : tensor<3xf64>
// CHECK: [[V1:%.+]] = stablehlo.compare EQ, %arg0, [[V0]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
// CHECK: [[V2:%.+]] = stablehlo.compare EQ, %arg1, [[V0]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
// CHECK: [[V3:%.+]] = stablehlo.and [[V1]], [[V2]] : tensor<3xi1>
// CHECK: [[V4:%.+]] = stablehlo.constant dense<1.000000e+00> : tensor<3xf64>
// CHECK: [[V5:%.+]] = stablehlo.select [[V3]], [[V4]], %arg1 : tensor<3xi1>, tensor<3xf64>
// CHECK: [[V6:%.+]] = stablehlo.divide %arg0, [[V5]] : tensor<3xf64>
// CHECK: return [[V6]] : tensor<3xf64>
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @eigh_values(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.eigh_values(%arg0) : (tensor<3x3xf64>) -> tensor<3xf64>
// CHECK: return [[V0]] : tensor<3xf64>
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func public @eigh_vectors(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.eigh_vectors(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]] : tensor<3x3xf64>
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func public @qr_q(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.qr_q(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]] : tensor<3x2xf64>
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @qr_q_complete(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.qr_q_complete(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]] : tensor<2x2xf64>
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @qr_r(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.qr_r(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]] : tensor<2x2xf64>
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @svd_s(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.svd_s(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: return [[V0]] : tensor<2xf64>
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func public @svd_u(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.svd_u(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]] : tensor<3x2xf64>
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func public @svd_u_full(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.svd_u_full(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]] : tensor<2x2xf64>
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @svd_vh(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.svd_vh(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]] : tensor<2x2xf64>
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func public @pinv(
// CHECK: [[V0:%.+]] = stablehlo.custom_call @qb.pinv(%arg0, %arg1) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
// CHECK: return [[V0]] : tensor<2x3xf64>
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}

// CHECK-LABEL: func.func public @solve_f32(
// CHECK: [[V0:%.+]] = stablehlo.convert %arg0 : (tensor<2x2xf32>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = stablehlo.convert %arg1 : (tensor<2x1xf32>) -> tensor<2x1xf64>
// CHECK: [[V2:%.+]] = stablehlo.custom_call @qb.solve([[V0]], [[V1]]) : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
// CHECK: [[V3:%.+]] = stablehlo.convert [[V2]] : (tensor<2x1xf64>) -> tensor<2x1xf32>
// CHECK: return [[V3]] : tensor<2x1xf32>
func.func @solve_f32(%a: tensor<2x2xf32>, %b: tensor<2x1xf32>) -> tensor<2x1xf32> {
  %0 = "qb.solve"(%a, %b) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}
