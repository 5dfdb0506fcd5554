// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of linear systems and factorizations: the transposes of their tangents. Cotangents come last, named
// with bar.

// dx = a^-1 (db - da x)  transposed:  bbar = a^-T xbar,  abar = -bbar x^T
// CHECK-LABEL: func.func @solve(
// CHECK: [[X:%.+]] = "qb.solve"(%arg0, %arg1)
// CHECK: [[AT:%.+]] = "qb.transpose"(%arg0)
// CHECK: [[BBAR:%.+]] = "qb.solve"([[AT]], %arg2)
// CHECK: [[XT:%.+]] = "qb.transpose"([[X]])
// CHECK: [[OUTER:%.+]] = "qb.matmul"([[BBAR]], [[XT]])
// CHECK: [[ABAR:%.+]] = "qb.neg"([[OUTER]])
// CHECK: return [[X]], [[ABAR]], [[BBAR]]
func.func @solve(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// The same for the solver that raises nothing.
// CHECK-LABEL: func.func @solve_or_nan(
// CHECK: [[X:%.+]] = "qb.solve_or_nan"(%arg0, %arg1)
// CHECK: [[AT:%.+]] = "qb.transpose"(%arg0)
// CHECK: [[BBAR:%.+]] = "qb.solve_or_nan"([[AT]], %arg2)
// CHECK: [[XT:%.+]] = "qb.transpose"([[X]])
// CHECK: [[OUTER:%.+]] = "qb.matmul"([[BBAR]], [[XT]])
// CHECK: [[ABAR:%.+]] = "qb.neg"([[OUTER]])
// CHECK: return [[X]], [[ABAR]], [[BBAR]]
func.func @solve_or_nan(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_or_nan"(%a, %b) : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// The same; only the triangle that is read gets a cotangent.
// CHECK-LABEL: func.func @solve_triangular(
// CHECK: [[X:%.+]] = "qb.solve_triangular"(%arg0, %arg1) {lower = true, transpose = false}
// CHECK: [[BBAR:%.+]] = "qb.solve_triangular"(%arg0, %arg2) {lower = true, transpose = true}
// CHECK: [[XT:%.+]] = "qb.transpose"([[X]])
// CHECK: [[OUTER:%.+]] = "qb.matmul"([[BBAR]], [[XT]])
// CHECK: [[MINUS:%.+]] = "qb.neg"([[OUTER]])
// CHECK: [[ABAR:%.+]] = "qb.tril"([[MINUS]])
// CHECK: return [[X]], [[ABAR]], [[BBAR]]
func.func @solve_triangular(%a: tensor<3x3xf64>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.solve_triangular"(%a, %b) {lower = true, transpose = false} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// dl = l phi(l^-1 da l^-T)  transposed: the symmetric part of l^-T phi(l^T lbar) l^-1; phi is its own transpose.
// CHECK-LABEL: func.func @cholesky(
// CHECK: [[L:%.+]] = "qb.cholesky"(%arg0)
// CHECK: [[LT:%.+]] = "qb.transpose"([[L]])
// CHECK: [[INNER:%.+]] = "qb.matmul"([[LT]], %arg1)
// CHECK: [[PHI:%.+]] = "qb.mul"([[INNER]], {{%.+}})
// CHECK: [[ONE:%.+]] = "qb.solve_triangular"([[L]], [[PHI]]) {lower = true, transpose = true}
// CHECK: [[ONET:%.+]] = "qb.transpose"([[ONE]])
// CHECK: [[BOTH:%.+]] = "qb.solve_triangular"([[L]], [[ONET]]) {lower = true, transpose = true}
// CHECK: [[HALF:%.+]] = "qb.mul"([[BOTH]], {{%.+}})
// CHECK: [[HALFT:%.+]] = "qb.transpose"([[HALF]])
// CHECK: [[ABAR:%.+]] = "qb.add"([[HALF]], [[HALFT]])
// CHECK: return [[L]], [[ABAR]]
func.func @cholesky(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cholesky"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// Piecewise constant.
// CHECK-LABEL: func.func @det_sign(
// CHECK: [[SIGN:%.+]] = "qb.det_sign"(%arg0)
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3x3xf64>}
// CHECK: return [[SIGN]], [[ZERO]]
func.func @det_sign(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det_sign"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// trace(a^-1 da)  transposed:  abar = ybar a^-T, as the solution for ybar on the diagonal of zeros.
// CHECK-LABEL: func.func @log_abs_det(
// CHECK: [[LOG:%.+]] = "qb.log_abs_det"(%arg0)
// CHECK: [[YBAR:%.+]] = "qb.broadcast"(%arg1) : (tensor<f64>) -> tensor<3xf64>
// CHECK: [[APART:%.+]] = "qb.pad"([[YBAR]]) {high = array<i64: 0>, interior = array<i64: 3>, low = array<i64: 0>}
// CHECK: [[DIAGONAL:%.+]] = "qb.reshape"([[APART]])
// CHECK: [[AT:%.+]] = "qb.transpose"(%arg0)
// CHECK: [[ABAR:%.+]] = "qb.solve"([[AT]], [[DIAGONAL]])
// CHECK: return [[LOG]], [[ABAR]]
func.func @log_abs_det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.log_abs_det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// sum(cofactors(a) * da)  transposed:  abar = ybar cofactors(a)
// CHECK-LABEL: func.func @det(
// CHECK: [[D:%.+]] = "qb.det"(%arg0)
// CHECK: [[C:%.+]] = "qb.cofactors"(%arg0)
// CHECK: [[YBAR:%.+]] = "qb.broadcast"(%arg1)
// CHECK: [[ABAR:%.+]] = "qb.mul"([[YBAR]], [[C]])
// CHECK: return [[D]], [[ABAR]]
func.func @det(%a: tensor<3x3xf64>) -> tensor<f64> {
  %0 = "qb.det"(%a) : (tensor<3x3xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// sum(ybar * c(a; m)) is a derivative of det along m and ybar, in which these may change places:
// mbar = c(a; ybar),  abar = c(a; m, ybar)
// CHECK-LABEL: func.func @cofactors(
// CHECK: [[C:%.+]] = "qb.cofactors"(%arg0, %arg1)
// CHECK: [[ABAR:%.+]] = "qb.cofactors"(%arg0, %arg1, %arg2)
// CHECK: [[MBAR:%.+]] = "qb.cofactors"(%arg0, %arg2)
// CHECK: return [[C]], [[ABAR]], [[MBAR]]
func.func @cofactors(%a: tensor<3x3xf64>, %b: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.cofactors"(%a, %b) : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// (dx - r dg) / g  transposed:  xbar = ybar / g,  gbar = -(ybar r) / g
// CHECK-LABEL: func.func @ratio(
// CHECK: [[R:%.+]] = "qb.ratio"(%arg0, %arg1)
// CHECK: [[XBAR:%.+]] = "qb.ratio"(%arg2, %arg1)
// CHECK: [[YR:%.+]] = "qb.mul"(%arg2, [[R]])
// CHECK: [[OVER:%.+]] = "qb.ratio"([[YR]], %arg1)
// CHECK: [[GBAR:%.+]] = "qb.neg"([[OVER]])
// CHECK: return [[R]], [[XBAR]], [[GBAR]]
func.func @ratio(%a: tensor<3xf64>, %b: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ratio"(%a, %b) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// diag(v^T da v)  transposed:  the symmetric part of v diag(wbar) v^T
// CHECK-LABEL: func.func @eigh_values(
// CHECK: [[W:%.+]] = "qb.eigh_values"(%arg0)
// CHECK: [[V:%.+]] = "qb.eigh_vectors"(%arg0)
// CHECK: [[VT:%.+]] = "qb.transpose"([[V]])
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>}
// CHECK: [[APART:%.+]] = "qb.pad"(%arg1) {high = array<i64: 0>, interior = array<i64: 3>, low = array<i64: 0>}
// CHECK: [[DIAGONAL:%.+]] = "qb.reshape"([[APART]])
// CHECK: [[LEFT:%.+]] = "qb.matmul"([[V]], [[DIAGONAL]])
// CHECK: [[BOTH:%.+]] = "qb.matmul"([[LEFT]], [[VT]])
// CHECK: [[PART:%.+]] = "qb.mul"([[BOTH]], [[HALF]])
// CHECK: [[PARTT:%.+]] = "qb.transpose"([[PART]])
// CHECK: [[ABAR:%.+]] = "qb.add"([[PART]], [[PARTT]])
// CHECK: return [[W]], [[ABAR]]
func.func @eigh_values(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = "qb.eigh_values"(%a) : (tensor<3x3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// v ((v^T da v) / gaps)  transposed:  the symmetric part of v ((v^T vbar) / gaps) v^T, off the diagonal
// CHECK-LABEL: func.func @eigh_vectors(
// CHECK: [[V:%.+]] = "qb.eigh_vectors"(%arg0)
// CHECK: [[VT:%.+]] = "qb.transpose"([[V]])
// CHECK: [[OFF:%.+]] = "qb.constant"() {value = dense<{{\[\[}}0.000000e+00, 1.000000e+00, 1.000000e+00], [1.000000e+00, 0.000000e+00, 1.000000e+00], [1.000000e+00, 1.000000e+00, 0.000000e+00]]>
// CHECK: [[W:%.+]] = "qb.eigh_values"(%arg0)
// CHECK: [[KEPT:%.+]] = "qb.where"({{%.+}}, {{%.+}}, {{%.+}})
// CHECK: [[GAPS:%.+]] = "qb.add"([[KEPT]], {{%.+}})
// CHECK: [[INNER:%.+]] = "qb.matmul"([[VT]], %arg1)
// CHECK: [[OMEGA:%.+]] = "qb.ratio"([[INNER]], [[GAPS]])
// CHECK: [[TURNED:%.+]] = "qb.mul"([[OMEGA]], [[OFF]])
// CHECK: [[LEFT:%.+]] = "qb.matmul"([[V]], [[TURNED]])
// CHECK: [[BOTH:%.+]] = "qb.matmul"([[LEFT]], [[VT]])
// CHECK: [[PART:%.+]] = "qb.mul"([[BOTH]], {{%.+}})
// CHECK: [[PARTT:%.+]] = "qb.transpose"([[PART]])
// CHECK: [[ABAR:%.+]] = "qb.add"([[PART]], [[PARTT]])
// CHECK: return [[V]], [[ABAR]]
func.func @eigh_vectors(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = "qb.eigh_vectors"(%a) : (tensor<3x3xf64>) -> tensor<3x3xf64>
  return %0 : tensor<3x3xf64>
}

// Transposed: sbar = qbar - q q^T qbar + q low(q^T qbar - qbar^T q), where low keeps what is below the diagonal, and
// abar = sbar r^-T.
// CHECK-LABEL: func.func @qr_q(
// CHECK: [[Q:%.+]] = "qb.qr_q"(%arg0)
// CHECK: [[R:%.+]] = "qb.qr_r"(%arg0)
// CHECK: [[QT:%.+]] = "qb.transpose"([[Q]])
// CHECK: [[MINUS:%.+]] = "qb.neg"(%arg1)
// CHECK: [[OUTSIDE:%.+]] = "qb.matmul"([[QT]], [[MINUS]])
// CHECK: [[INSIDE:%.+]] = "qb.matmul"([[QT]], %arg1)
// CHECK: [[BACK:%.+]] = "qb.neg"([[INSIDE]])
// CHECK: [[BACKT:%.+]] = "qb.transpose"([[BACK]])
// CHECK: [[SKEW:%.+]] = "qb.add"([[INSIDE]], [[BACKT]])
// CHECK: [[OFF:%.+]] = "qb.mul"([[SKEW]], {{%.+}})
// CHECK: [[LOW:%.+]] = "qb.tril"([[OFF]])
// CHECK: [[BOTH:%.+]] = "qb.add"([[OUTSIDE]], [[LOW]])
// CHECK: [[ALONG:%.+]] = "qb.matmul"([[Q]], [[BOTH]])
// CHECK: [[SBAR:%.+]] = "qb.add"(%arg1, [[ALONG]])
// CHECK: [[SBART:%.+]] = "qb.transpose"([[SBAR]])
// CHECK: [[ABART:%.+]] = "qb.solve_triangular"([[R]], [[SBART]]) {lower = false, transpose = false}
// CHECK: [[ABAR:%.+]] = "qb.transpose"([[ABART]])
// CHECK: return [[Q]], [[ABAR]]
func.func @qr_q(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.qr_q"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// The same of the leading square block, where q q^T = 1 leaves sbar = q low(q^T qbar - qbar^T q); the last column of
// the 3 has no influence.
// CHECK-LABEL: func.func @qr_q_complete(
// CHECK: [[Q:%.+]] = "qb.qr_q_complete"(%arg0)
// CHECK: [[WIDE:%.+]] = "qb.qr_r"(%arg0)
// CHECK: [[R:%.+]] = "qb.slice"([[WIDE]]) {axis = 1 : i64, length = 2 : i64, start = 0 : i64, step = 1 : i64}
// CHECK: [[QT:%.+]] = "qb.transpose"([[Q]])
// CHECK: [[INSIDE:%.+]] = "qb.matmul"([[QT]], %arg1)
// CHECK: [[LOW:%.+]] = "qb.tril"({{%.+}})
// CHECK: [[SBAR:%.+]] = "qb.matmul"([[Q]], [[LOW]])
// CHECK: [[SBART:%.+]] = "qb.transpose"([[SBAR]])
// CHECK: [[BLOCKT:%.+]] = "qb.solve_triangular"([[R]], [[SBART]]) {lower = false, transpose = false}
// CHECK: [[BLOCK:%.+]] = "qb.transpose"([[BLOCKT]])
// CHECK: [[ABAR:%.+]] = "qb.pad"([[BLOCK]]) {high = array<i64: 0, 1>, {{.*}}low = array<i64: 0, 0>}
// CHECK: return [[Q]], [[ABAR]]
func.func @qr_q_complete(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_q_complete"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// up(q^T da - (q^T dq) r)  transposed, with ubar the upper triangle of rbar: abar = q ubar + sbar r^-T, where
// sbar = q low(m - m^T) for m = -ubar r^T
// CHECK-LABEL: func.func @qr_r(
// CHECK: [[R:%.+]] = "qb.qr_r"(%arg0)
// CHECK: [[Q:%.+]] = "qb.qr_q"(%arg0)
// CHECK: [[UBAR:%.+]] = "qb.triu"(%arg1)
// CHECK: [[MINUS:%.+]] = "qb.neg"([[UBAR]])
// CHECK: [[RT:%.+]] = "qb.transpose"([[R]])
// CHECK: [[M:%.+]] = "qb.matmul"([[MINUS]], [[RT]])
// CHECK: [[DIRECT:%.+]] = "qb.matmul"([[Q]], [[UBAR]])
// CHECK: [[BACK:%.+]] = "qb.neg"([[M]])
// CHECK: [[BACKT:%.+]] = "qb.transpose"([[BACK]])
// CHECK: [[SKEW:%.+]] = "qb.add"([[M]], [[BACKT]])
// CHECK: [[OFF:%.+]] = "qb.mul"([[SKEW]], {{%.+}})
// CHECK: [[LOW:%.+]] = "qb.tril"([[OFF]])
// CHECK: [[SBAR:%.+]] = "qb.matmul"([[Q]], [[LOW]])
// CHECK: [[SBART:%.+]] = "qb.transpose"([[SBAR]])
// CHECK: [[TURNEDT:%.+]] = "qb.solve_triangular"([[R]], [[SBART]]) {lower = false, transpose = false}
// CHECK: [[TURNED:%.+]] = "qb.transpose"([[TURNEDT]])
// CHECK: [[ABAR:%.+]] = "qb.add"([[DIRECT]], [[TURNED]])
// CHECK: return [[R]], [[ABAR]]
func.func @qr_r(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.qr_r"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// diag(u^T da v)  transposed:  abar = u diag(sbar) v^T
// CHECK-LABEL: func.func @svd_s(
// CHECK: [[S:%.+]] = "qb.svd_s"(%arg0)
// CHECK: [[U:%.+]] = "qb.svd_u"(%arg0)
// CHECK: [[VH:%.+]] = "qb.svd_vh"(%arg0)
// CHECK: [[APART:%.+]] = "qb.pad"(%arg1) {high = array<i64: 0>, interior = array<i64: 2>, low = array<i64: 0>}
// CHECK: [[DIAGONAL:%.+]] = "qb.reshape"([[APART]])
// CHECK: [[LEFT:%.+]] = "qb.matmul"([[U]], [[DIAGONAL]])
// CHECK: [[ABAR:%.+]] = "qb.matmul"([[LEFT]], [[VH]])
// CHECK: return [[S]], [[ABAR]]
func.func @svd_s(%a: tensor<3x2xf64>) -> tensor<2xf64> {
  %0 = "qb.svd_s"(%a) : (tensor<3x2xf64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}

// Transposed, with h = u^T ubar / 2, e = h / (s_j - s_i) off the diagonal, d = h / (s_i + s_j) and o = ubar / s:
// abar = (o + u (e + e^T + d - d^T - u^T o)) v^T
// CHECK-LABEL: func.func @svd_u(
// CHECK: [[U:%.+]] = "qb.svd_u"(%arg0)
// CHECK: [[S:%.+]] = "qb.svd_s"(%arg0)
// CHECK: [[VH:%.+]] = "qb.svd_vh"(%arg0)
// CHECK: [[UT:%.+]] = "qb.transpose"([[U]])
// CHECK: [[ROW:%.+]] = "qb.reshape"([[S]]) : (tensor<2xf64>) -> tensor<1x2xf64>
// CHECK: [[COLUMN:%.+]] = "qb.reshape"([[S]]) : (tensor<2xf64>) -> tensor<2x1xf64>
// CHECK: [[GAPS:%.+]] = "qb.add"({{%.+}}, {{%.+}})
// CHECK: [[SUM:%.+]] = "qb.add"([[ROW]], [[COLUMN]])
// CHECK: [[POSITIVE:%.+]] = "qb.where"({{%.+}}, [[SUM]], {{%.+}})
// CHECK: [[SUMS:%.+]] = "qb.add"([[POSITIVE]], {{%.+}})
// CHECK: [[O:%.+]] = "qb.ratio"(%arg1, {{%.+}})
// CHECK: [[MINUS:%.+]] = "qb.neg"([[O]])
// CHECK: [[UTO:%.+]] = "qb.matmul"([[UT]], [[MINUS]])
// CHECK: [[INNER:%.+]] = "qb.matmul"([[UT]], %arg1)
// CHECK: [[H:%.+]] = "qb.mul"([[INNER]], {{%.+}})
// CHECK: [[D:%.+]] = "qb.ratio"([[H]], [[SUMS]])
// CHECK: [[TWO:%.+]] = "qb.add"([[UTO]], [[D]])
// CHECK: [[BYGAPS:%.+]] = "qb.ratio"([[H]], [[GAPS]])
// CHECK: [[E:%.+]] = "qb.mul"([[BYGAPS]], {{%.+}})
// CHECK: [[THREE:%.+]] = "qb.add"([[TWO]], [[E]])
// CHECK: [[ACROSS:%.+]] = "qb.sub"([[E]], [[D]])
// CHECK: [[ACROSST:%.+]] = "qb.transpose"([[ACROSS]])
// CHECK: [[FOUR:%.+]] = "qb.add"([[THREE]], [[ACROSST]])
// CHECK: [[ALONG:%.+]] = "qb.matmul"([[U]], [[FOUR]])
// CHECK: [[BOTH:%.+]] = "qb.add"([[O]], [[ALONG]])
// CHECK: [[ABAR:%.+]] = "qb.matmul"([[BOTH]], [[VH]])
// CHECK: return [[U]], [[ABAR]]
func.func @svd_u(%a: tensor<3x2xf64>) -> tensor<3x2xf64> {
  %0 = "qb.svd_u"(%a) : (tensor<3x2xf64>) -> tensor<3x2xf64>
  return %0 : tensor<3x2xf64>
}

// The same without o, since nothing is orthogonal to a square u.
// CHECK-LABEL: func.func @svd_u_full(
// CHECK: [[U:%.+]] = "qb.svd_u_full"(%arg0)
// CHECK: [[UT:%.+]] = "qb.transpose"([[U]])
// CHECK: [[INNER:%.+]] = "qb.matmul"([[UT]], %arg1)
// CHECK: [[H:%.+]] = "qb.mul"([[INNER]], {{%.+}})
// CHECK: [[BYSUMS:%.+]] = "qb.ratio"([[H]], {{%.+}})
// CHECK: [[BYGAPS:%.+]] = "qb.ratio"([[H]], {{%.+}})
// CHECK: [[ALONG:%.+]] = "qb.matmul"([[U]], {{%.+}})
// CHECK: [[ABAR:%.+]] = "qb.matmul"([[ALONG]], {{%.+}})
// CHECK: return [[U]], [[ABAR]]
func.func @svd_u_full(%a: tensor<2x3xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_u_full"(%a) : (tensor<2x3xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// The formula of svd_u for the transposed matrix: abar is transposed, and vbar = vhbar^T.
// CHECK-LABEL: func.func @svd_vh(
// CHECK: [[VH:%.+]] = "qb.svd_vh"(%arg0)
// CHECK: [[U:%.+]] = "qb.svd_u"(%arg0)
// CHECK: [[S:%.+]] = "qb.svd_s"(%arg0)
// CHECK: [[VBAR:%.+]] = "qb.transpose"(%arg1)
// CHECK: [[INNER:%.+]] = "qb.matmul"({{%.+}}, [[VBAR]])
// CHECK: [[H:%.+]] = "qb.mul"([[INNER]], {{%.+}})
// CHECK: [[BYSUMS:%.+]] = "qb.ratio"([[H]], {{%.+}})
// CHECK: [[BYGAPS:%.+]] = "qb.ratio"([[H]], {{%.+}})
// CHECK: [[ALONG:%.+]] = "qb.matmul"({{%.+}}, {{%.+}})
// CHECK: [[ABART:%.+]] = "qb.matmul"([[ALONG]], {{%.+}})
// CHECK: [[ABAR:%.+]] = "qb.transpose"([[ABART]])
// CHECK: return [[VH]], [[ABAR]]
func.func @svd_vh(%a: tensor<3x2xf64>) -> tensor<2x2xf64> {
  %0 = "qb.svd_vh"(%a) : (tensor<3x2xf64>) -> tensor<2x2xf64>
  return %0 : tensor<2x2xf64>
}

// Transposed, with n = -pbar; the tolerance has no influence:
// abar = p^T n p^T + ((pbar + a^T p^T n) p^T p + p p^T (pbar + n p^T a^T))^T
// CHECK-LABEL: func.func @pinv(
// CHECK: [[P:%.+]] = "qb.pinv"(%arg0, %arg1)
// CHECK: [[PT:%.+]] = "qb.transpose"([[P]])
// CHECK: [[PPT:%.+]] = "qb.matmul"([[P]], [[PT]])
// CHECK: [[PTP:%.+]] = "qb.matmul"([[PT]], [[P]])
// CHECK: [[N:%.+]] = "qb.neg"(%arg2)
// CHECK: [[PTN:%.+]] = "qb.matmul"([[PT]], [[N]])
// CHECK: [[AT:%.+]] = "qb.transpose"(%arg0)
// CHECK: [[ATPTN:%.+]] = "qb.matmul"([[AT]], [[PTN]])
// CHECK: [[LEFT:%.+]] = "qb.add"(%arg2, [[ATPTN]])
// CHECK: [[NPT:%.+]] = "qb.matmul"([[N]], [[PT]])
// CHECK: [[NPTAT:%.+]] = "qb.matmul"([[NPT]], [[AT]])
// CHECK: [[RIGHT:%.+]] = "qb.add"(%arg2, [[NPTAT]])
// CHECK: [[PTPT:%.+]] = "qb.transpose"([[PTP]])
// CHECK: [[ONE:%.+]] = "qb.matmul"([[LEFT]], [[PTPT]])
// CHECK: [[PPTT:%.+]] = "qb.transpose"([[PPT]])
// CHECK: [[TWO:%.+]] = "qb.matmul"([[PPTT]], [[RIGHT]])
// CHECK: [[SUM:%.+]] = "qb.add"([[ONE]], [[TWO]])
// CHECK: [[DIRECT:%.+]] = "qb.matmul"([[PTN]], [[PT]])
// CHECK: [[SUMT:%.+]] = "qb.transpose"([[SUM]])
// CHECK: [[ABAR:%.+]] = "qb.add"([[DIRECT]], [[SUMT]])
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: return [[P]], [[ABAR]], [[ZERO]]
func.func @pinv(%a: tensor<3x2xf64>, %b: tensor<f64>) -> tensor<2x3xf64> {
  %0 = "qb.pinv"(%a, %b) : (tensor<3x2xf64>, tensor<f64>) -> tensor<2x3xf64>
  return %0 : tensor<2x3xf64>
}
