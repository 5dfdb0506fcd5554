// RUN: qb-opt %s --qb-jvp | filecheck %s

// Forward mode of linear systems and factorizations: no rule inverts a matrix.

// CHECK-LABEL: func.func @solve(
// CHECK: [[V0:%.+]] = "qb.solve"(%arg0, %arg1) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.matmul"(%arg2, [[V0]]) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.sub"(%arg3, [[V1]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V3:%.+]] = "qb.solve"(%arg0, [[V2]]) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V3]] : tensor<3x2xf64>, tensor<3x2xf64>
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @solve_triangular(
// CHECK: [[V0:%.+]] = "qb.solve_triangular"(%arg0, %arg1) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.tril"(%arg2) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V2:%.+]] = "qb.matmul"([[V1]], [[V0]]) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V3:%.+]] = "qb.sub"(%arg3, [[V2]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V4:%.+]] = "qb.solve_triangular"(%arg0, [[V3]]) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V4]] : tensor<3x2xf64>, tensor<3x2xf64>
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @cholesky(
// CHECK: [[V0:%.+]] = "qb.cholesky"(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V1:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V2:%.+]] = "qb.add"(%arg1, [[V1]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V3:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V4:%.+]] = "qb.mul"([[V3]], [[V2]]) : (tensor<f64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.solve_triangular"([[V0]], [[V4]]) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V6:%.+]] = "qb.transpose"([[V5]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V7:%.+]] = "qb.solve_triangular"([[V0]], [[V6]]) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<3x3xf64>} : () -> tensor<3x3xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V7]], [[V8]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V10:%.+]] = "qb.matmul"([[V0]], [[V9]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V10]] : tensor<3x3xf64>, tensor<3x3xf64>
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @det_sign(
// CHECK: [[V0:%.+]] = "qb.det_sign"(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: [[V1:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>} : () -> tensor<f64>
// CHECK: return [[V0]], [[V1]] : tensor<f64>, tensor<f64>
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @log_abs_det(
// CHECK: [[V0:%.+]] = "qb.log_abs_det"(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: [[V1:%.+]] = "qb.solve"(%arg0, %arg1) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V2:%.+]] = "qb.reshape"([[V1]]) : (tensor<3x3xf64>) -> tensor<9xf64>
// CHECK: [[V3:%.+]] = "qb.slice"([[V2]]) {axis = 0 : i64, length = 3 : i64, start = 0 : i64, step = 4 : i64} : (tensor<9xf64>) -> tensor<3xf64>
// CHECK: [[V4:%.+]] = "qb.sum"([[V3]]) {axis = array<i64: 0>} : (tensor<3xf64>) -> tensor<f64>
// CHECK: return [[V0]], [[V4]] : tensor<f64>, tensor<f64>
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @ratio(
// CHECK: [[V0:%.+]] = "qb.ratio"(%arg0, %arg1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V1:%.+]] = "qb.mul"([[V0]], %arg3) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V2:%.+]] = "qb.sub"(%arg2, [[V1]]) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V3:%.+]] = "qb.ratio"([[V2]], %arg1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: return [[V0]], [[V3]] : tensor<3xf64>, tensor<3xf64>
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_values(
// CHECK: [[V0:%.+]] = "qb.eigh_values"(%arg0) : (tensor<3x3xf64>) -> tensor<3xf64>
// CHECK: [[V1:%.+]] = "qb.eigh_vectors"(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"([[V1]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V4:%.+]] = "qb.add"(%arg1, [[V3]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V6:%.+]] = "qb.mul"([[V5]], [[V4]]) : (tensor<f64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V7:%.+]] = "qb.matmul"([[V6]], [[V1]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = "qb.matmul"([[V2]], [[V7]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V9:%.+]] = "qb.reshape"([[V8]]) : (tensor<3x3xf64>) -> tensor<9xf64>
// CHECK: [[V10:%.+]] = "qb.slice"([[V9]]) {axis = 0 : i64, length = 3 : i64, start = 0 : i64, step = 4 : i64} : (tensor<9xf64>) -> tensor<3xf64>
// CHECK: return [[V0]], [[V10]] : tensor<3xf64>, tensor<3xf64>
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_vectors(
// CHECK: [[V0:%.+]] = "qb.eigh_vectors"(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V1:%.+]] = "qb.eigh_values"(%arg0) : (tensor<3x3xf64>) -> tensor<3xf64>
// CHECK: [[V2:%.+]] = "qb.reshape"([[V1]]) : (tensor<3xf64>) -> tensor<1x3xf64>
// CHECK: [[V3:%.+]] = "qb.reshape"([[V1]]) : (tensor<3xf64>) -> tensor<3x1xf64>
// CHECK: [[V4:%.+]] = "qb.sub"([[V2]], [[V3]]) : (tensor<1x3xf64>, tensor<3x1xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<3x3xf64>} : () -> tensor<3x3xf64>
// CHECK: [[V6:%.+]] = "qb.add"([[V4]], [[V5]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V7:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V9:%.+]] = "qb.add"(%arg1, [[V8]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V10:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V11:%.+]] = "qb.mul"([[V10]], [[V9]]) : (tensor<f64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V12:%.+]] = "qb.matmul"([[V11]], [[V0]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V7]], [[V12]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V14:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<3x3xf64>} : () -> tensor<3x3xf64>
// CHECK: [[V15:%.+]] = "qb.mul"([[V13]], [[V14]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V16:%.+]] = "qb.ratio"([[V15]], [[V6]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V17:%.+]] = "qb.matmul"([[V0]], [[V16]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V17]] : tensor<3x3xf64>, tensor<3x3xf64>
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @qr_q(
// CHECK: [[V0:%.+]] = "qb.qr_q"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.qr_r"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V3:%.+]] = "qb.solve_triangular"([[V1]], [[V2]]) {lower = false, transpose = true} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V4:%.+]] = "qb.transpose"([[V3]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V5:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V5]], [[V4]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.tril"([[V6]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V7]], [[V8]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.transpose"([[V9]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.sub"([[V9]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.matmul"([[V0]], [[V11]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V0]], [[V6]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V14:%.+]] = "qb.sub"([[V4]], [[V13]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V15:%.+]] = "qb.add"([[V12]], [[V14]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V15]] : tensor<3x2xf64>, tensor<3x2xf64>
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @qr_q_complete(
// CHECK: [[V0:%.+]] = "qb.qr_q_complete"(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.qr_r"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V2:%.+]] = "qb.slice"([[V1]]) {axis = 1 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.slice"(%arg1) {axis = 1 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.transpose"([[V3]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V5:%.+]] = "qb.solve_triangular"([[V2]], [[V4]]) {lower = false, transpose = true} : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.transpose"([[V5]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.matmul"([[V7]], [[V6]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.tril"([[V8]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.mul"([[V9]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.transpose"([[V11]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.sub"([[V11]], [[V12]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.matmul"([[V0]], [[V13]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]], [[V14]] : tensor<2x2xf64>, tensor<2x2xf64>
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @qr_r(
// CHECK: [[V0:%.+]] = "qb.qr_r"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.qr_q"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V3:%.+]] = "qb.solve_triangular"([[V0]], [[V2]]) {lower = false, transpose = true} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V4:%.+]] = "qb.transpose"([[V3]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V5:%.+]] = "qb.transpose"([[V1]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V5]], [[V4]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.tril"([[V6]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V7]], [[V8]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.transpose"([[V9]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.sub"([[V9]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.matmul"([[V5]], %arg1) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V11]], [[V0]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.sub"([[V12]], [[V13]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.triu"([[V14]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]], [[V15]] : tensor<2x2xf64>, tensor<2x2xf64>
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_s(
// CHECK: [[V0:%.+]] = "qb.svd_s"(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_u"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_vh"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V2]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.transpose"([[V1]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"(%arg1, [[V3]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V4]], [[V5]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.reshape"([[V6]]) : (tensor<2x2xf64>) -> tensor<4xf64>
// CHECK: [[V8:%.+]] = "qb.slice"([[V7]]) {axis = 0 : i64, length = 2 : i64, start = 0 : i64, step = 3 : i64} : (tensor<4xf64>) -> tensor<2xf64>
// CHECK: return [[V0]], [[V8]] : tensor<2xf64>, tensor<2xf64>
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @svd_u(
// CHECK: [[V0:%.+]] = "qb.svd_u"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_s"(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_vh"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V2]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.matmul"(%arg1, [[V3]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V5:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V5]], [[V4]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V8:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V6]], [[V8]]) : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.transpose"([[V6]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.mul"([[V7]], [[V10]]) : (tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.add"([[V9]], [[V11]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.mul"([[V12]], [[V13]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.add"([[V8]], [[V7]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V16:%.+]] = "qb.div"([[V14]], [[V15]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V17:%.+]] = "qb.sub"([[V8]], [[V7]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V18:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V19:%.+]] = "qb.add"([[V17]], [[V18]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V20:%.+]] = "qb.ratio"([[V16]], [[V19]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V21:%.+]] = "qb.matmul"([[V0]], [[V20]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V22:%.+]] = "qb.matmul"([[V0]], [[V6]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V23:%.+]] = "qb.sub"([[V4]], [[V22]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V24:%.+]] = "qb.div"([[V23]], [[V8]]) : (tensor<3x2xf64>, tensor<1x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V25:%.+]] = "qb.add"([[V21]], [[V24]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V25]] : tensor<3x2xf64>, tensor<3x2xf64>
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @svd_u_full(
// CHECK: [[V0:%.+]] = "qb.svd_u_full"(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_s"(%arg0) : (tensor<2x3xf64>) -> tensor<2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_vh"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V2]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V4:%.+]] = "qb.matmul"(%arg1, [[V3]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V5:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V5]], [[V4]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V8:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V6]], [[V8]]) : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.transpose"([[V6]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.mul"([[V7]], [[V10]]) : (tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.add"([[V9]], [[V11]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.mul"([[V12]], [[V13]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.add"([[V8]], [[V7]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V16:%.+]] = "qb.div"([[V14]], [[V15]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V17:%.+]] = "qb.sub"([[V8]], [[V7]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V18:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V19:%.+]] = "qb.add"([[V17]], [[V18]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V20:%.+]] = "qb.ratio"([[V16]], [[V19]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V21:%.+]] = "qb.matmul"([[V0]], [[V20]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]], [[V21]] : tensor<2x2xf64>, tensor<2x2xf64>
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_vh(
// CHECK: [[V0:%.+]] = "qb.svd_vh"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_u"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_s"(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"([[V4]], [[V1]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V0]], [[V5]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.reshape"([[V2]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V8:%.+]] = "qb.reshape"([[V2]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V6]], [[V8]]) : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.transpose"([[V6]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.mul"([[V7]], [[V10]]) : (tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.add"([[V9]], [[V11]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.mul"([[V12]], [[V13]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.add"([[V8]], [[V7]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V16:%.+]] = "qb.div"([[V14]], [[V15]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V17:%.+]] = "qb.sub"([[V8]], [[V7]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V18:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V19:%.+]] = "qb.add"([[V17]], [[V18]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V20:%.+]] = "qb.ratio"([[V16]], [[V19]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V21:%.+]] = "qb.matmul"([[V3]], [[V20]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V22:%.+]] = "qb.transpose"([[V21]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: return [[V0]], [[V22]] : tensor<2x2xf64>, tensor<2x2xf64>
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @pinv(
// CHECK: [[V0:%.+]] = "qb.pinv"(%arg0, %arg1) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
// CHECK: [[V1:%.+]] = "qb.transpose"(%arg2) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V3:%.+]] = "qb.matmul"(%arg2, [[V0]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V4:%.+]] = "qb.matmul"([[V0]], [[V3]]) : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"([[V0]], [[V2]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V5]], [[V1]]) : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V7:%.+]] = "qb.matmul"([[V2]], [[V0]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = "qb.matmul"([[V1]], [[V7]]) : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V9:%.+]] = "qb.matmul"([[V6]], %arg0) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.matmul"([[V9]], [[V0]]) : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V11:%.+]] = "qb.sub"([[V6]], [[V10]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V12:%.+]] = "qb.sub"([[V11]], [[V4]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"(%arg0, [[V8]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V14:%.+]] = "qb.matmul"([[V0]], [[V13]]) : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V15:%.+]] = "qb.sub"([[V8]], [[V14]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V16:%.+]] = "qb.add"([[V12]], [[V15]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: return [[V0]], [[V16]] : tensor<2x3xf64>, tensor<2x3xf64>
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
