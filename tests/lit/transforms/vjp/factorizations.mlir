// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of linear systems and factorizations: the transposes of their tangents.

// CHECK-LABEL: func.func @solve(
// CHECK: [[V0:%.+]] = "qb.solve"(%arg0, %arg1) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V2:%.+]] = "qb.solve"([[V1]], %arg2) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V4:%.+]] = "qb.matmul"([[V2]], [[V3]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.neg"([[V4]]) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V5]], [[V2]] : tensor<3x2xf64>, tensor<3x3xf64>, tensor<3x2xf64>
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @solve_triangular(
// CHECK: [[V0:%.+]] = "qb.solve_triangular"(%arg0, %arg1) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.solve_triangular"(%arg0, %arg2) {lower = true, transpose = true} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V3:%.+]] = "qb.matmul"([[V1]], [[V2]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V4:%.+]] = "qb.neg"([[V3]]) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.tril"([[V4]]) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V5]], [[V1]] : tensor<3x2xf64>, tensor<3x3xf64>, tensor<3x2xf64>
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @cholesky(
// CHECK: [[V0:%.+]] = "qb.cholesky"(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V1:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V2:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<3x3xf64>} : () -> tensor<3x3xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V4:%.+]] = "qb.matmul"([[V3]], %arg1) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.mul"([[V4]], [[V2]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V6:%.+]] = "qb.solve_triangular"([[V0]], [[V5]]) {lower = true, transpose = true} : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V7:%.+]] = "qb.transpose"([[V6]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = "qb.solve_triangular"([[V0]], [[V7]]) {lower = true, transpose = true} : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V8]], [[V1]]) : (tensor<3x3xf64>, tensor<f64>) -> tensor<3x3xf64>
// CHECK: [[V10:%.+]] = "qb.transpose"([[V9]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V11:%.+]] = "qb.add"([[V9]], [[V10]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V11]] : tensor<3x3xf64>, tensor<3x3xf64>
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @det_sign(
// CHECK: [[V0:%.+]] = "qb.det_sign"(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: [[V1:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3x3xf64>} : () -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V1]] : tensor<f64>, tensor<3x3xf64>
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @log_abs_det(
// CHECK: [[V0:%.+]] = "qb.log_abs_det"(%arg0) : (tensor<3x3xf64>) -> tensor<f64>
// CHECK: [[V1:%.+]] = "qb.broadcast"(%arg1) : (tensor<f64>) -> tensor<3xf64>
// CHECK: [[V2:%.+]] = "qb.pad"([[V1]]) {high = array<i64: 0>, interior = array<i64: 3>, low = array<i64: 0>} : (tensor<3xf64>) -> tensor<9xf64>
// CHECK: [[V3:%.+]] = "qb.reshape"([[V2]]) : (tensor<9xf64>) -> tensor<3x3xf64>
// CHECK: [[V4:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V5:%.+]] = "qb.solve"([[V4]], [[V3]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V5]] : tensor<f64>, tensor<3x3xf64>
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// CHECK-LABEL: func.func @ratio(
// CHECK: [[V0:%.+]] = "qb.ratio"(%arg0, %arg1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V1:%.+]] = "qb.ratio"(%arg2, %arg1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V2:%.+]] = "qb.mul"(%arg2, [[V0]]) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V3:%.+]] = "qb.ratio"([[V2]], %arg1) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
// CHECK: [[V4:%.+]] = "qb.neg"([[V3]]) : (tensor<3xf64>) -> tensor<3xf64>
// CHECK: return [[V0]], [[V1]], [[V4]] : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @eigh_values(
// CHECK: [[V0:%.+]] = "qb.eigh_values"(%arg0) : (tensor<3x3xf64>) -> tensor<3xf64>
// CHECK: [[V1:%.+]] = "qb.eigh_vectors"(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"([[V1]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V3:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V4:%.+]] = "qb.pad"(%arg1) {high = array<i64: 0>, interior = array<i64: 3>, low = array<i64: 0>} : (tensor<3xf64>) -> tensor<9xf64>
// CHECK: [[V5:%.+]] = "qb.reshape"([[V4]]) : (tensor<9xf64>) -> tensor<3x3xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V1]], [[V5]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V7:%.+]] = "qb.matmul"([[V6]], [[V2]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V8:%.+]] = "qb.mul"([[V7]], [[V3]]) : (tensor<3x3xf64>, tensor<f64>) -> tensor<3x3xf64>
// CHECK: [[V9:%.+]] = "qb.transpose"([[V8]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V10:%.+]] = "qb.add"([[V8]], [[V9]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V10]] : tensor<3xf64>, tensor<3x3xf64>
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
// CHECK: [[V8:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V9:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<3x3xf64>} : () -> tensor<3x3xf64>
// CHECK: [[V10:%.+]] = "qb.matmul"([[V7]], %arg1) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V11:%.+]] = "qb.ratio"([[V10]], [[V6]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V12:%.+]] = "qb.mul"([[V11]], [[V9]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V0]], [[V12]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V14:%.+]] = "qb.matmul"([[V13]], [[V7]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V15:%.+]] = "qb.mul"([[V14]], [[V8]]) : (tensor<3x3xf64>, tensor<f64>) -> tensor<3x3xf64>
// CHECK: [[V16:%.+]] = "qb.transpose"([[V15]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V17:%.+]] = "qb.add"([[V15]], [[V16]]) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: return [[V0]], [[V17]] : tensor<3x3xf64>, tensor<3x3xf64>
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// CHECK-LABEL: func.func @qr_q(
// CHECK: [[V0:%.+]] = "qb.qr_q"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.qr_r"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V2:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V3:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.neg"(%arg1) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"([[V2]], [[V4]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V2]], %arg1) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.neg"([[V6]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.transpose"([[V7]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.add"([[V6]], [[V8]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.mul"([[V9]], [[V3]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.tril"([[V10]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.add"([[V5]], [[V11]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V0]], [[V12]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V14:%.+]] = "qb.add"(%arg1, [[V13]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V15:%.+]] = "qb.transpose"([[V14]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V16:%.+]] = "qb.solve_triangular"([[V1]], [[V15]]) {lower = false, transpose = false} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V17:%.+]] = "qb.transpose"([[V16]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V17]] : tensor<3x2xf64>, tensor<3x2xf64>
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @qr_q_complete(
// CHECK: [[V0:%.+]] = "qb.qr_q_complete"(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.qr_r"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V2:%.+]] = "qb.slice"([[V1]]) {axis = 1 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64} : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"([[V3]], %arg1) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.neg"([[V5]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.transpose"([[V6]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.add"([[V5]], [[V7]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.mul"([[V8]], [[V4]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.tril"([[V9]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.matmul"([[V0]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.transpose"([[V11]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.solve_triangular"([[V2]], [[V12]]) {lower = false, transpose = false} : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.transpose"([[V13]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.pad"([[V14]]) {high = array<i64: 0, 1>, interior = array<i64: 0, 0>, low = array<i64: 0, 0>} : (tensor<2x2xf64>) -> tensor<2x3xf64>
// CHECK: return [[V0]], [[V15]] : tensor<2x2xf64>, tensor<2x3xf64>
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @qr_r(
// CHECK: [[V0:%.+]] = "qb.qr_r"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.qr_q"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.triu"(%arg1) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.neg"([[V3]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V5:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V4]], [[V5]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.matmul"([[V1]], [[V3]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V8:%.+]] = "qb.neg"([[V6]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.transpose"([[V8]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.add"([[V6]], [[V9]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.mul"([[V10]], [[V2]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.tril"([[V11]]) : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V1]], [[V12]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V14:%.+]] = "qb.transpose"([[V13]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V15:%.+]] = "qb.solve_triangular"([[V0]], [[V14]]) {lower = false, transpose = false} : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V16:%.+]] = "qb.transpose"([[V15]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V17:%.+]] = "qb.add"([[V7]], [[V16]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V17]] : tensor<2x2xf64>, tensor<3x2xf64>
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_s(
// CHECK: [[V0:%.+]] = "qb.svd_s"(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_u"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_vh"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.pad"(%arg1) {high = array<i64: 0>, interior = array<i64: 2>, low = array<i64: 0>} : (tensor<2xf64>) -> tensor<4xf64>
// CHECK: [[V4:%.+]] = "qb.reshape"([[V3]]) : (tensor<4xf64>) -> tensor<2x2xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"([[V1]], [[V4]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V6:%.+]] = "qb.matmul"([[V5]], [[V2]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V6]] : tensor<2xf64>, tensor<3x2xf64>
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// CHECK-LABEL: func.func @svd_u(
// CHECK: [[V0:%.+]] = "qb.svd_u"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_s"(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_vh"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V4:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V5:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[V6:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.add"([[V5]], [[V4]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.sub"([[V5]], [[V4]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.add"([[V8]], [[V9]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V12:%.+]] = "qb.div"([[V11]], [[V5]]) : (tensor<f64>, tensor<1x2xf64>) -> tensor<1x2xf64>
// CHECK: [[V13:%.+]] = "qb.mul"(%arg1, [[V12]]) : (tensor<3x2xf64>, tensor<1x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V14:%.+]] = "qb.neg"([[V13]]) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V15:%.+]] = "qb.matmul"([[V3]], [[V14]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V16:%.+]] = "qb.matmul"([[V3]], %arg1) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V17:%.+]] = "qb.ratio"([[V16]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V18:%.+]] = "qb.div"([[V11]], [[V7]]) : (tensor<f64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V19:%.+]] = "qb.mul"([[V17]], [[V18]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V20:%.+]] = "qb.mul"([[V19]], [[V6]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V21:%.+]] = "qb.mul"([[V20]], [[V4]]) : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V22:%.+]] = "qb.transpose"([[V21]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V23:%.+]] = "qb.add"([[V15]], [[V22]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V24:%.+]] = "qb.mul"([[V20]], [[V5]]) : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V25:%.+]] = "qb.add"([[V23]], [[V24]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V26:%.+]] = "qb.matmul"([[V0]], [[V25]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V27:%.+]] = "qb.add"([[V13]], [[V26]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V28:%.+]] = "qb.matmul"([[V27]], [[V2]]) : (tensor<3x2xf64>, tensor<2x2xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V28]] : tensor<3x2xf64>, tensor<3x2xf64>
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// CHECK-LABEL: func.func @svd_u_full(
// CHECK: [[V0:%.+]] = "qb.svd_u_full"(%arg0) : (tensor<2x3xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_s"(%arg0) : (tensor<2x3xf64>) -> tensor<2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_vh"(%arg0) : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V5:%.+]] = "qb.reshape"([[V1]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[V6:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.add"([[V5]], [[V4]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.sub"([[V5]], [[V4]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.add"([[V8]], [[V9]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.matmul"([[V3]], %arg1) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.ratio"([[V11]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V14:%.+]] = "qb.div"([[V13]], [[V7]]) : (tensor<f64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.mul"([[V12]], [[V14]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V16:%.+]] = "qb.mul"([[V15]], [[V6]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V17:%.+]] = "qb.mul"([[V16]], [[V4]]) : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V18:%.+]] = "qb.transpose"([[V17]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V19:%.+]] = "qb.mul"([[V16]], [[V5]]) : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V20:%.+]] = "qb.add"([[V18]], [[V19]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V21:%.+]] = "qb.matmul"([[V0]], [[V20]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V22:%.+]] = "qb.matmul"([[V21]], [[V2]]) : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: return [[V0]], [[V22]] : tensor<2x2xf64>, tensor<2x3xf64>
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @svd_vh(
// CHECK: [[V0:%.+]] = "qb.svd_vh"(%arg0) : (tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V1:%.+]] = "qb.svd_u"(%arg0) : (tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.svd_s"(%arg0) : (tensor<3x2xf64>) -> tensor<2xf64>
// CHECK: [[V3:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V4:%.+]] = "qb.reshape"([[V2]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[V5:%.+]] = "qb.reshape"([[V2]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[V6:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V7:%.+]] = "qb.add"([[V5]], [[V4]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V8:%.+]] = "qb.sub"([[V5]], [[V4]]) : (tensor<1x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V9:%.+]] = "qb.constant"() {value = dense<{{.*}}> : tensor<2x2xf64>} : () -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.add"([[V8]], [[V9]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V11:%.+]] = "qb.transpose"(%arg1) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V12:%.+]] = "qb.matmul"([[V0]], [[V11]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V13:%.+]] = "qb.ratio"([[V12]], [[V10]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V14:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>} : () -> tensor<f64>
// CHECK: [[V15:%.+]] = "qb.div"([[V14]], [[V7]]) : (tensor<f64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V16:%.+]] = "qb.mul"([[V13]], [[V15]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V17:%.+]] = "qb.mul"([[V16]], [[V6]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V18:%.+]] = "qb.mul"([[V17]], [[V4]]) : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
// CHECK: [[V19:%.+]] = "qb.transpose"([[V18]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V20:%.+]] = "qb.mul"([[V17]], [[V5]]) : (tensor<2x2xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V21:%.+]] = "qb.add"([[V19]], [[V20]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V22:%.+]] = "qb.matmul"([[V3]], [[V21]]) : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V23:%.+]] = "qb.transpose"([[V1]]) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V24:%.+]] = "qb.matmul"([[V22]], [[V23]]) : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V25:%.+]] = "qb.transpose"([[V24]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: return [[V0]], [[V25]] : tensor<2x2xf64>, tensor<3x2xf64>
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// CHECK-LABEL: func.func @pinv(
// CHECK: [[V0:%.+]] = "qb.pinv"(%arg0, %arg1) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
// CHECK: [[V1:%.+]] = "qb.transpose"([[V0]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V2:%.+]] = "qb.matmul"([[V0]], [[V1]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V3:%.+]] = "qb.matmul"([[V1]], [[V0]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V4:%.+]] = "qb.neg"(%arg2) : (tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V5:%.+]] = "qb.matmul"([[V1]], [[V4]]) : (tensor<3x2xf64>, tensor<2x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V6:%.+]] = "qb.transpose"(%arg0) {axes = array<i64: 1, 0>} : (tensor<3x2xf64>) -> tensor<2x3xf64>
// CHECK: [[V7:%.+]] = "qb.matmul"([[V6]], [[V5]]) : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V8:%.+]] = "qb.add"(%arg2, [[V7]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V9:%.+]] = "qb.matmul"([[V4]], [[V1]]) : (tensor<2x3xf64>, tensor<3x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V10:%.+]] = "qb.matmul"([[V9]], [[V6]]) : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V11:%.+]] = "qb.add"(%arg2, [[V10]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V12:%.+]] = "qb.transpose"([[V3]]) {axes = array<i64: 1, 0>} : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[V13:%.+]] = "qb.matmul"([[V8]], [[V12]]) : (tensor<2x3xf64>, tensor<3x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V14:%.+]] = "qb.transpose"([[V2]]) {axes = array<i64: 1, 0>} : (tensor<2x2xf64>) -> tensor<2x2xf64>
// CHECK: [[V15:%.+]] = "qb.matmul"([[V14]], [[V11]]) : (tensor<2x2xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V16:%.+]] = "qb.add"([[V13]], [[V15]]) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
// CHECK: [[V17:%.+]] = "qb.matmul"([[V5]], [[V1]]) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V18:%.+]] = "qb.transpose"([[V16]]) {axes = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>
// CHECK: [[V19:%.+]] = "qb.add"([[V17]], [[V18]]) : (tensor<3x2xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
// CHECK: [[V20:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>} : () -> tensor<f64>
// CHECK: return [[V0]], [[V19]], [[V20]] : tensor<2x3xf64>, tensor<3x2xf64>, tensor<f64>
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
