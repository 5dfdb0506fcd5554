// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s

// Linear systems and factorizations map over their leading axes.

// CHECK-LABEL: func.func @solve(
// CHECK: [[V0:%.+]] = "qb.solve"(%arg0, %arg1) : (tensor<4x3x3xf64>, tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[V0]] : tensor<4x3x2xf64>
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @solve_triangular(
// CHECK: [[V0:%.+]] = "qb.solve_triangular"(%arg0, %arg1) {lower = true, transpose = false} : (tensor<4x3x3xf64>, tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[V0]] : tensor<4x3x2xf64>
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @cholesky(
// CHECK: [[V0:%.+]] = "qb.cholesky"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[V0]] : tensor<4x3x3xf64>
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @det_sign(
// CHECK: [[V0:%.+]] = "qb.det_sign"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4xf64>
// CHECK: return [[V0]] : tensor<4xf64>
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @log_abs_det(
// CHECK: [[V0:%.+]] = "qb.log_abs_det"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4xf64>
// CHECK: return [[V0]] : tensor<4xf64>
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @ratio(
// CHECK: [[V0:%.+]] = "qb.ratio"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[V0]] : tensor<4x3xf64>
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_values(
// CHECK: [[V0:%.+]] = "qb.eigh_values"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[V0]] : tensor<4x3xf64>
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_vectors(
// CHECK: [[V0:%.+]] = "qb.eigh_vectors"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[V0]] : tensor<4x3x3xf64>
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @qr_q(
// CHECK: [[V0:%.+]] = "qb.qr_q"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[V0]] : tensor<4x3x2xf64>
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @qr_q_complete(
// CHECK: [[V0:%.+]] = "qb.qr_q_complete"(%arg0) : (tensor<4x2x3xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[V0]] : tensor<4x2x2xf64>
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @qr_r(
// CHECK: [[V0:%.+]] = "qb.qr_r"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[V0]] : tensor<4x2x2xf64>
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_s(
// CHECK: [[V0:%.+]] = "qb.svd_s"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x2xf64>
// CHECK: return [[V0]] : tensor<4x2xf64>
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @svd_u(
// CHECK: [[V0:%.+]] = "qb.svd_u"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[V0]] : tensor<4x3x2xf64>
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @svd_u_full(
// CHECK: [[V0:%.+]] = "qb.svd_u_full"(%arg0) : (tensor<4x2x3xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[V0]] : tensor<4x2x2xf64>
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_vh(
// CHECK: [[V0:%.+]] = "qb.svd_vh"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[V0]] : tensor<4x2x2xf64>
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @pinv(
// CHECK: [[V0:%.+]] = "qb.pinv"(%arg0, %arg1) : (tensor<4x3x2xf64>, tensor<4xf64>) -> tensor<4x2x3xf64>
// CHECK: return [[V0]] : tensor<4x2x3xf64>
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
