// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s

// The mapped axis is one more of the stack of matrices, so each op maps to itself: batched routines do the rest.

// CHECK-LABEL: func.func @solve(
// CHECK: [[X:%.+]] = "qb.solve"(%arg0, %arg1) : (tensor<4x3x3xf64>, tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[X]] : tensor<4x3x2xf64>
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @solve_or_nan(
// CHECK: [[X:%.+]] = "qb.solve_or_nan"(%arg0, %arg1) : (tensor<4x3x3xf64>, tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[X]] : tensor<4x3x2xf64>
func.func @solve_or_nan(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_or_nan"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @solve_triangular(
// CHECK: [[X:%.+]] = "qb.solve_triangular"(%arg0, %arg1) {lower = true, transpose = false} : (tensor<4x3x3xf64>, tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[X]] : tensor<4x3x2xf64>
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @cholesky(
// CHECK: [[X:%.+]] = "qb.cholesky"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[X]] : tensor<4x3x3xf64>
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @det_sign(
// CHECK: [[X:%.+]] = "qb.det_sign"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4xf64>
// CHECK: return [[X]] : tensor<4xf64>
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @log_abs_det(
// CHECK: [[X:%.+]] = "qb.log_abs_det"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4xf64>
// CHECK: return [[X]] : tensor<4xf64>
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @det(
// CHECK: [[X:%.+]] = "qb.det"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4xf64>
// CHECK: return [[X]] : tensor<4xf64>
func.func @det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @cofactors(
// CHECK: [[X:%.+]] = "qb.cofactors"(%arg0, %arg1) : (tensor<4x3x3xf64>, tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[X]] : tensor<4x3x3xf64>
func.func @cofactors(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cofactors"(%a, %b) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @ratio(
// CHECK: [[X:%.+]] = "qb.ratio"(%arg0, %arg1) : (tensor<4x3xf64>, tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[X]] : tensor<4x3xf64>
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_values(
// CHECK: [[X:%.+]] = "qb.eigh_values"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[X]] : tensor<4x3xf64>
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_vectors(
// CHECK: [[X:%.+]] = "qb.eigh_vectors"(%arg0) : (tensor<4x3x3xf64>) -> tensor<4x3x3xf64>
// CHECK: return [[X]] : tensor<4x3x3xf64>
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @qr_q(
// CHECK: [[X:%.+]] = "qb.qr_q"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[X]] : tensor<4x3x2xf64>
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @qr_q_complete(
// CHECK: [[X:%.+]] = "qb.qr_q_complete"(%arg0) : (tensor<4x2x3xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[X]] : tensor<4x2x2xf64>
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @qr_r(
// CHECK: [[X:%.+]] = "qb.qr_r"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[X]] : tensor<4x2x2xf64>
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_s(
// CHECK: [[X:%.+]] = "qb.svd_s"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x2xf64>
// CHECK: return [[X]] : tensor<4x2xf64>
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @svd_u(
// CHECK: [[X:%.+]] = "qb.svd_u"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
// CHECK: return [[X]] : tensor<4x3x2xf64>
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @svd_u_full(
// CHECK: [[X:%.+]] = "qb.svd_u_full"(%arg0) : (tensor<4x2x3xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[X]] : tensor<4x2x2xf64>
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_vh(
// CHECK: [[X:%.+]] = "qb.svd_vh"(%arg0) : (tensor<4x3x2xf64>) -> tensor<4x2x2xf64>
// CHECK: return [[X]] : tensor<4x2x2xf64>
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @pinv(
// CHECK: [[X:%.+]] = "qb.pinv"(%arg0, %arg1) : (tensor<4x3x2xf64>, tensor<4xf64>) -> tensor<4x2x3xf64>
// CHECK: return [[X]] : tensor<4x2x3xf64>
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
