// RUN: qb-opt %s --qb-jvp | filecheck %s

// Forward mode of linear systems and factorizations: no rule inverts a matrix. Operands come first, tangents behind them.

// a x = b  gives  a dx = db - da x
// CHECK-LABEL: func.func @solve(
// CHECK: [[X:%.+]] = "qb.solve"(%arg0, %arg1)
// CHECK: [[MOVED:%.+]] = "qb.matmul"(%arg2, [[X]])
// CHECK: [[RIGHT:%.+]] = "qb.sub"(%arg3, [[MOVED]])
// CHECK: [[DX:%.+]] = "qb.solve"(%arg0, [[RIGHT]])
// CHECK: return [[X]], [[DX]]
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// The same for the solver that raises nothing.
// CHECK-LABEL: func.func @solve_or_nan(
// CHECK: [[X:%.+]] = "qb.solve_or_nan"(%arg0, %arg1)
// CHECK: [[MOVED:%.+]] = "qb.matmul"(%arg2, [[X]])
// CHECK: [[RIGHT:%.+]] = "qb.sub"(%arg3, [[MOVED]])
// CHECK: [[DX:%.+]] = "qb.solve_or_nan"(%arg0, [[RIGHT]])
// CHECK: return [[X]], [[DX]]
func.func @solve_or_nan(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_or_nan"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// The same, with the part of da that is read.
// CHECK-LABEL: func.func @solve_triangular(
// CHECK: [[X:%.+]] = "qb.solve_triangular"(%arg0, %arg1) {lower = true, transpose = false}
// CHECK: [[READ:%.+]] = "qb.tril"(%arg2)
// CHECK: [[MOVED:%.+]] = "qb.matmul"([[READ]], [[X]])
// CHECK: [[RIGHT:%.+]] = "qb.sub"(%arg3, [[MOVED]])
// CHECK: [[DX:%.+]] = "qb.solve_triangular"(%arg0, [[RIGHT]]) {lower = true, transpose = false}
// CHECK: return [[X]], [[DX]]
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// a = l l^T  gives  dl = l phi(l^-1 da l^-T), where phi keeps what is below the diagonal and halves the diagonal,
// and da is the symmetric part of what comes.
// CHECK-LABEL: func.func @cholesky(
// CHECK: [[L:%.+]] = "qb.cholesky"(%arg0)
// CHECK: [[DAT:%.+]] = "qb.transpose"(%arg1)
// CHECK: [[TWICE:%.+]] = "qb.add"(%arg1, [[DAT]])
// CHECK: [[DA:%.+]] = "qb.mul"({{%.+}}, [[TWICE]])
// CHECK: [[ONE:%.+]] = "qb.solve_triangular"([[L]], [[DA]]) {lower = true, transpose = false}
// CHECK: [[ONET:%.+]] = "qb.transpose"([[ONE]])
// CHECK: [[BOTH:%.+]] = "qb.solve_triangular"([[L]], [[ONET]]) {lower = true, transpose = false}
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<{{\[\[}}5.000000e-01, 0.000000e+00, 0.000000e+00], [1.000000e+00, 5.000000e-01, 0.000000e+00], [1.000000e+00, 1.000000e+00, 5.000000e-01]]>
// CHECK: [[PHI:%.+]] = "qb.mul"([[BOTH]], [[HALF]])
// CHECK: [[DL:%.+]] = "qb.matmul"([[L]], [[PHI]])
// CHECK: return [[L]], [[DL]]
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// Piecewise constant.
// CHECK-LABEL: func.func @det_sign(
// CHECK: [[SIGN:%.+]] = "qb.det_sign"(%arg0)
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: return [[SIGN]], [[ZERO]]
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// d log|det a| = trace(a^-1 da); the diagonal of 3 x 3 is every fourth element.
// CHECK-LABEL: func.func @log_abs_det(
// CHECK: [[LOG:%.+]] = "qb.log_abs_det"(%arg0)
// CHECK: [[X:%.+]] = "qb.solve"(%arg0, %arg1)
// CHECK: [[FLAT:%.+]] = "qb.reshape"([[X]])
// CHECK: [[DIAGONAL:%.+]] = "qb.slice"([[FLAT]]) {axis = 0 : i64, length = 3 : i64, start = 0 : i64, step = 4 : i64}
// CHECK: [[TRACE:%.+]] = "qb.sum"([[DIAGONAL]])
// CHECK: return [[LOG]], [[TRACE]]
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// d det a = sum(cofactors(a) * da)
// CHECK-LABEL: func.func @det(
// CHECK: [[D:%.+]] = "qb.det"(%arg0)
// CHECK: [[C:%.+]] = "qb.cofactors"(%arg0)
// CHECK: [[EACH:%.+]] = "qb.mul"([[C]], %arg1)
// CHECK: [[DD:%.+]] = "qb.sum"([[EACH]]) {axis = array<i64: 0, 1>}
// CHECK: return [[D]], [[DD]]
func.func @det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// c(a; m) is linear in m, and its derivative by a along da is c(a; m, da).
// CHECK-LABEL: func.func @cofactors(
// CHECK: [[C:%.+]] = "qb.cofactors"(%arg0, %arg1)
// CHECK: [[BY_A:%.+]] = "qb.cofactors"(%arg0, %arg1, %arg2)
// CHECK: [[BY_M:%.+]] = "qb.cofactors"(%arg0, %arg3)
// CHECK: [[DC:%.+]] = "qb.add"([[BY_A]], [[BY_M]])
// CHECK: return [[C]], [[DC]]
func.func @cofactors(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cofactors"(%a, %b) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// d(x / g) = (dx - r dg) / g
// CHECK-LABEL: func.func @ratio(
// CHECK: [[R:%.+]] = "qb.ratio"(%arg0, %arg1)
// CHECK: [[MOVED:%.+]] = "qb.mul"([[R]], %arg3)
// CHECK: [[TOP:%.+]] = "qb.sub"(%arg2, [[MOVED]])
// CHECK: [[DR:%.+]] = "qb.ratio"([[TOP]], %arg1)
// CHECK: return [[R]], [[DR]]
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// dw = diag(v^T da v), with the symmetric part of da
// CHECK-LABEL: func.func @eigh_values(
// CHECK: [[W:%.+]] = "qb.eigh_values"(%arg0)
// CHECK: [[V:%.+]] = "qb.eigh_vectors"(%arg0)
// CHECK: [[VT:%.+]] = "qb.transpose"([[V]])
// CHECK: [[DAT:%.+]] = "qb.transpose"(%arg1)
// CHECK: [[TWICE:%.+]] = "qb.add"(%arg1, [[DAT]])
// CHECK: [[DA:%.+]] = "qb.mul"({{%.+}}, [[TWICE]])
// CHECK: [[RIGHT:%.+]] = "qb.matmul"([[DA]], [[V]])
// CHECK: [[INNER:%.+]] = "qb.matmul"([[VT]], [[RIGHT]])
// CHECK: [[FLAT:%.+]] = "qb.reshape"([[INNER]])
// CHECK: [[DW:%.+]] = "qb.slice"([[FLAT]]) {axis = 0 : i64, length = 3 : i64, start = 0 : i64, step = 4 : i64}
// CHECK: return [[W]], [[DW]]
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// dv = v ((v^T da v) / gaps) off the diagonal, gaps[i, j] = w[j] - w[i]; a gap within 3 eps max|w| counts as 0.
// CHECK-LABEL: func.func @eigh_vectors(
// CHECK: [[V:%.+]] = "qb.eigh_vectors"(%arg0)
// CHECK: [[VT:%.+]] = "qb.transpose"([[V]])
// CHECK: [[RIGHT:%.+]] = "qb.matmul"({{%.+}}, [[V]])
// CHECK: [[INNER:%.+]] = "qb.matmul"([[VT]], [[RIGHT]])
// CHECK: [[TURNED:%.+]] = "qb.mul"([[INNER]], {{%.+}})
// CHECK: [[W:%.+]] = "qb.eigh_values"(%arg0)
// CHECK: [[ROW:%.+]] = "qb.reshape"([[W]]) : (tensor<3xf64>) -> tensor<1x3xf64>
// CHECK: [[COLUMN:%.+]] = "qb.reshape"([[W]]) : (tensor<3xf64>) -> tensor<3x1xf64>
// CHECK: [[APART:%.+]] = "qb.sub"([[ROW]], [[COLUMN]])
// CHECK: [[SIZES:%.+]] = "qb.abs"([[W]])
// CHECK: [[LARGEST:%.+]] = "qb.max"([[SIZES]])
// CHECK: [[EPS:%.+]] = "qb.constant"() {value = dense<6.66{{.*}}E-16> : tensor<f64>}
// CHECK: [[NOISE:%.+]] = "qb.mul"([[LARGEST]], [[EPS]])
// CHECK: [[SCALE:%.+]] = "qb.reshape"([[NOISE]]) : (tensor<f64>) -> tensor<1x1xf64>
// CHECK: [[SIZE:%.+]] = "qb.abs"([[APART]])
// CHECK: [[BEYOND:%.+]] = "qb.compare"([[SIZE]], [[SCALE]]) {kind = "greater"}
// CHECK: [[KEPT:%.+]] = "qb.where"([[BEYOND]], [[APART]], {{%.+}})
// CHECK: [[GAPS:%.+]] = "qb.add"([[KEPT]], {{%.+}})
// CHECK: [[OMEGA:%.+]] = "qb.ratio"([[TURNED]], [[GAPS]])
// CHECK: [[DV:%.+]] = "qb.matmul"([[V]], [[OMEGA]])
// CHECK: return [[V]], [[DV]]
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// With s = da r^-1, q^T dq is the skew-symmetric matrix whose part below the diagonal is that of q^T s. What of s is
// orthogonal to q moves q too: dq = q (q^T dq) + s - q q^T s.
// CHECK-LABEL: func.func @qr_q(
// CHECK: [[Q:%.+]] = "qb.qr_q"(%arg0)
// CHECK: [[R:%.+]] = "qb.qr_r"(%arg0)
// CHECK: [[DAT:%.+]] = "qb.transpose"(%arg1)
// CHECK: [[ST:%.+]] = "qb.solve_triangular"([[R]], [[DAT]]) {lower = false, transpose = true}
// CHECK: [[S:%.+]] = "qb.transpose"([[ST]])
// CHECK: [[QT:%.+]] = "qb.transpose"([[Q]])
// CHECK: [[QTS:%.+]] = "qb.matmul"([[QT]], [[S]])
// CHECK: [[LOWER:%.+]] = "qb.tril"([[QTS]])
// CHECK: [[BELOW:%.+]] = "qb.mul"([[LOWER]], {{%.+}})
// CHECK: [[ABOVE:%.+]] = "qb.transpose"([[BELOW]])
// CHECK: [[SKEW:%.+]] = "qb.sub"([[BELOW]], [[ABOVE]])
// CHECK: [[INSIDE:%.+]] = "qb.matmul"([[Q]], [[SKEW]])
// CHECK: [[ALONG:%.+]] = "qb.matmul"([[Q]], [[QTS]])
// CHECK: [[OUTSIDE:%.+]] = "qb.sub"([[S]], [[ALONG]])
// CHECK: [[DQ:%.+]] = "qb.add"([[INSIDE]], [[OUTSIDE]])
// CHECK: return [[Q]], [[DQ]]
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// Of a wide matrix the leading square block determines q, which is square: nothing is orthogonal to it.
// CHECK-LABEL: func.func @qr_q_complete(
// CHECK: [[Q:%.+]] = "qb.qr_q_complete"(%arg0)
// CHECK: [[WIDE:%.+]] = "qb.qr_r"(%arg0)
// CHECK: [[R:%.+]] = "qb.slice"([[WIDE]]) {axis = 1 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64}
// CHECK: [[DA:%.+]] = "qb.slice"(%arg1) {axis = 1 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64}
// CHECK: [[DAT:%.+]] = "qb.transpose"([[DA]])
// CHECK: [[ST:%.+]] = "qb.solve_triangular"([[R]], [[DAT]]) {lower = false, transpose = true}
// CHECK: [[S:%.+]] = "qb.transpose"([[ST]])
// CHECK: [[QT:%.+]] = "qb.transpose"([[Q]])
// CHECK: [[QTS:%.+]] = "qb.matmul"([[QT]], [[S]])
// CHECK: [[LOWER:%.+]] = "qb.tril"([[QTS]])
// CHECK: [[BELOW:%.+]] = "qb.mul"([[LOWER]], {{%.+}})
// CHECK: [[ABOVE:%.+]] = "qb.transpose"([[BELOW]])
// CHECK: [[SKEW:%.+]] = "qb.sub"([[BELOW]], [[ABOVE]])
// CHECK: [[DQ:%.+]] = "qb.matmul"([[Q]], [[SKEW]])
// CHECK: return [[Q]], [[DQ]]
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// dr = q^T da - (q^T dq) r, which is upper triangular.
// CHECK-LABEL: func.func @qr_r(
// CHECK: [[R:%.+]] = "qb.qr_r"(%arg0)
// CHECK: [[Q:%.+]] = "qb.qr_q"(%arg0)
// CHECK: [[SKEW:%.+]] = "qb.sub"({{%.+}}, {{%.+}})
// CHECK: [[QTDA:%.+]] = "qb.matmul"({{%.+}}, %arg1)
// CHECK: [[TURNED:%.+]] = "qb.matmul"([[SKEW]], [[R]])
// CHECK: [[REST:%.+]] = "qb.sub"([[QTDA]], [[TURNED]])
// CHECK: [[DR:%.+]] = "qb.triu"([[REST]])
// CHECK: return [[R]], [[DR]]
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// ds = diag(u^T da v)
// CHECK-LABEL: func.func @svd_s(
// CHECK: [[S:%.+]] = "qb.svd_s"(%arg0)
// CHECK: [[U:%.+]] = "qb.svd_u"(%arg0)
// CHECK: [[VH:%.+]] = "qb.svd_vh"(%arg0)
// CHECK: [[V:%.+]] = "qb.transpose"([[VH]])
// CHECK: [[UT:%.+]] = "qb.transpose"([[U]])
// CHECK: [[DAV:%.+]] = "qb.matmul"(%arg1, [[V]])
// CHECK: [[INNER:%.+]] = "qb.matmul"([[UT]], [[DAV]])
// CHECK: [[FLAT:%.+]] = "qb.reshape"([[INNER]])
// CHECK: [[DS:%.+]] = "qb.slice"([[FLAT]]) {axis = 0 : i64, length = 2 : i64, start = 0 : i64, step = 3 : i64}
// CHECK: return [[S]], [[DS]]
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// With p = u^T da v, u^T du is half of (p + p^T) / (s_j - s_i) + (p - p^T) / (s_i + s_j) off the diagonal. Of a tall
// matrix, what of da v is orthogonal to u moves it by itself over s.
// CHECK-LABEL: func.func @svd_u(
// CHECK: [[U:%.+]] = "qb.svd_u"(%arg0)
// CHECK: [[S:%.+]] = "qb.svd_s"(%arg0)
// CHECK: [[VH:%.+]] = "qb.svd_vh"(%arg0)
// CHECK: [[V:%.+]] = "qb.transpose"([[VH]])
// CHECK: [[DAV:%.+]] = "qb.matmul"(%arg1, [[V]])
// CHECK: [[UT:%.+]] = "qb.transpose"([[U]])
// CHECK: [[P:%.+]] = "qb.matmul"([[UT]], [[DAV]])
// CHECK: [[PT:%.+]] = "qb.transpose"([[P]])
// CHECK: [[BOTH:%.+]] = "qb.add"([[P]], [[PT]])
// CHECK: [[EVEN:%.+]] = "qb.mul"([[BOTH]], {{%.+}})
// CHECK: [[ROW:%.+]] = "qb.reshape"([[S]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[COLUMN:%.+]] = "qb.reshape"([[S]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[APART:%.+]] = "qb.sub"([[ROW]], [[COLUMN]])
// CHECK: [[KEPT:%.+]] = "qb.where"({{%.+}}, [[APART]], {{%.+}})
// CHECK: [[GAPS:%.+]] = "qb.add"([[KEPT]], {{%.+}})
// CHECK: [[BYGAPS:%.+]] = "qb.ratio"([[EVEN]], [[GAPS]])
// CHECK: [[SUM:%.+]] = "qb.add"([[ROW]], [[COLUMN]])
// CHECK: [[POSITIVE:%.+]] = "qb.where"({{%.+}}, [[SUM]], {{%.+}})
// CHECK: [[SUMS:%.+]] = "qb.add"([[POSITIVE]], {{%.+}})
// CHECK: [[ODD:%.+]] = "qb.sub"([[P]], [[PT]])
// CHECK: [[BYSUMS:%.+]] = "qb.ratio"([[ODD]], [[SUMS]])
// CHECK: [[TWICE:%.+]] = "qb.add"([[BYGAPS]], [[BYSUMS]])
// CHECK: [[OMEGA:%.+]] = "qb.mul"({{%.+}}, [[TWICE]])
// CHECK: [[INSIDE:%.+]] = "qb.matmul"([[U]], [[OMEGA]])
// CHECK: [[UP:%.+]] = "qb.matmul"([[U]], [[P]])
// CHECK: [[ORTHOGONAL:%.+]] = "qb.sub"([[DAV]], [[UP]])
// CHECK: [[OVER:%.+]] = "qb.where"({{%.+}}, [[S]], {{%.+}})
// CHECK: [[OVERS:%.+]] = "qb.reshape"([[OVER]])
// CHECK: [[OUTSIDE:%.+]] = "qb.ratio"([[ORTHOGONAL]], [[OVERS]])
// CHECK: [[DU:%.+]] = "qb.add"([[INSIDE]], [[OUTSIDE]])
// CHECK: return [[U]], [[DU]]
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// Of a wide matrix it is the u of the reduced form, and square.
// CHECK-LABEL: func.func @svd_u_full(
// CHECK: [[U:%.+]] = "qb.svd_u_full"(%arg0)
// CHECK: [[BYGAPS:%.+]] = "qb.ratio"({{%.+}}, {{%.+}})
// CHECK: [[BYSUMS:%.+]] = "qb.ratio"({{%.+}}, {{%.+}})
// CHECK: [[TWICE:%.+]] = "qb.add"([[BYGAPS]], [[BYSUMS]])
// CHECK: [[OMEGA:%.+]] = "qb.mul"({{%.+}}, [[TWICE]])
// CHECK: [[DU:%.+]] = "qb.matmul"([[U]], [[OMEGA]])
// CHECK: return [[U]], [[DU]]
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// The v of a matrix is the u of its transpose, whose u is v: the formula of svd_u with da^T.
// CHECK-LABEL: func.func @svd_vh(
// CHECK: [[VH:%.+]] = "qb.svd_vh"(%arg0)
// CHECK: [[U:%.+]] = "qb.svd_u"(%arg0)
// CHECK: [[S:%.+]] = "qb.svd_s"(%arg0)
// CHECK: [[V:%.+]] = "qb.transpose"([[VH]])
// CHECK: [[DAT:%.+]] = "qb.transpose"(%arg1)
// CHECK: [[CARRIED:%.+]] = "qb.matmul"([[DAT]], [[U]])
// CHECK: [[P:%.+]] = "qb.matmul"([[VH]], [[CARRIED]])
// CHECK: [[BYGAPS:%.+]] = "qb.ratio"({{%.+}}, {{%.+}})
// CHECK: [[BYSUMS:%.+]] = "qb.ratio"({{%.+}}, {{%.+}})
// CHECK: [[TWICE:%.+]] = "qb.add"([[BYGAPS]], [[BYSUMS]])
// CHECK: [[OMEGA:%.+]] = "qb.mul"({{%.+}}, [[TWICE]])
// CHECK: [[DV:%.+]] = "qb.matmul"([[V]], [[OMEGA]])
// CHECK: [[DVH:%.+]] = "qb.transpose"([[DV]])
// CHECK: return [[VH]], [[DVH]]
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// dp = -p da p + p p^T da^T (1 - a p) + (1 - p a) da^T p^T p, as long as the rank stays the same
// CHECK-LABEL: func.func @pinv(
// CHECK: [[P:%.+]] = "qb.pinv"(%arg0, %arg1)
// CHECK: [[DAT:%.+]] = "qb.transpose"(%arg2)
// CHECK: [[PT:%.+]] = "qb.transpose"([[P]])
// CHECK: [[DAP:%.+]] = "qb.matmul"(%arg2, [[P]])
// CHECK: [[PDAP:%.+]] = "qb.matmul"([[P]], [[DAP]])
// CHECK: [[PPT:%.+]] = "qb.matmul"([[P]], [[PT]])
// CHECK: [[RIGHT:%.+]] = "qb.matmul"([[PPT]], [[DAT]])
// CHECK: [[PTP:%.+]] = "qb.matmul"([[PT]], [[P]])
// CHECK: [[LEFT:%.+]] = "qb.matmul"([[DAT]], [[PTP]])
// CHECK: [[RIGHTA:%.+]] = "qb.matmul"([[RIGHT]], %arg0)
// CHECK: [[RIGHTAP:%.+]] = "qb.matmul"([[RIGHTA]], [[P]])
// CHECK: [[SECOND:%.+]] = "qb.sub"([[RIGHT]], [[RIGHTAP]])
// CHECK: [[TWO:%.+]] = "qb.sub"([[SECOND]], [[PDAP]])
// CHECK: [[ALEFT:%.+]] = "qb.matmul"(%arg0, [[LEFT]])
// CHECK: [[PALEFT:%.+]] = "qb.matmul"([[P]], [[ALEFT]])
// CHECK: [[THIRD:%.+]] = "qb.sub"([[LEFT]], [[PALEFT]])
// CHECK: [[DP:%.+]] = "qb.add"([[TWO]], [[THIRD]])
// CHECK: return [[P]], [[DP]]
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
