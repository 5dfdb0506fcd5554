// RUN: qb-opt %s --qb-vjp | filecheck %s

// Reverse mode of elementwise ops with one operand: the cotangent is %arg1 times the derivative at %arg0.

// CHECK-LABEL: func.func @sin(
// CHECK: [[R:%.+]] = "qb.sin"(%arg0)
// CHECK: [[D:%.+]] = "qb.cos"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @sin(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @cos(
// CHECK: [[R:%.+]] = "qb.cos"(%arg0)
// CHECK: [[S:%.+]] = "qb.sin"(%arg0)
// CHECK: [[D:%.+]] = "qb.neg"([[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @cos(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cos"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 + tan(x)**2.
// CHECK-LABEL: func.func @tan(
// CHECK: [[R:%.+]] = "qb.tan"(%arg0)
// CHECK: [[S:%.+]] = "qb.mul"([[R]], [[R]])
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.add"([[ONE]], [[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @tan(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.tan"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / sqrt(1 - x**2), where the value of 1 - x**2 comes from (1 - x) (1 + x).
// CHECK-LABEL: func.func @arcsin(
// CHECK: [[R:%.+]] = "qb.arcsin"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[A:%.+]] = "qb.sub"([[ONE]], %arg0)
// CHECK: [[B:%.+]] = "qb.add"([[ONE]], %arg0)
// CHECK: [[P:%.+]] = "qb.mul"([[A]], [[B]])
// CHECK: [[D:%.+]] = "qb.rsqrt"({{%.+}})
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @arcsin(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arcsin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -1 / sqrt(1 - x**2).
// CHECK-LABEL: func.func @arccos(
// CHECK: [[R:%.+]] = "qb.arccos"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[A:%.+]] = "qb.sub"([[ONE]], %arg0)
// CHECK: [[B:%.+]] = "qb.add"([[ONE]], %arg0)
// CHECK: [[P:%.+]] = "qb.mul"([[A]], [[B]])
// CHECK: [[Q:%.+]] = "qb.rsqrt"({{%.+}})
// CHECK: [[D:%.+]] = "qb.neg"([[Q]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @arccos(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arccos"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (1 + x**2), without overflow: (1 / hypot(1, x))**2.
// CHECK-LABEL: func.func @arctan(
// CHECK: [[R:%.+]] = "qb.arctan"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[H:%.+]] = "qb.hypot"([[ONE]], %arg0)
// CHECK: [[C:%.+]] = "qb.div"([[ONE]], [[H]])
// CHECK: [[D:%.+]] = "qb.mul"([[C]], [[C]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @arctan(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arctan"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sinh(
// CHECK: [[R:%.+]] = "qb.sinh"(%arg0)
// CHECK: [[D:%.+]] = "qb.cosh"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @sinh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sinh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @cosh(
// CHECK: [[R:%.+]] = "qb.cosh"(%arg0)
// CHECK: [[D:%.+]] = "qb.sinh"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @cosh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cosh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / cosh(x)**2, an op of its own: 1 - tanh(x)**2 is 0 from x = 19 on.
// CHECK-LABEL: func.func @tanh(
// CHECK: [[R:%.+]] = "qb.tanh"(%arg0)
// CHECK: [[D:%.+]] = "qb.sech2"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @tanh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.tanh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -2 tanh(x) / cosh(x)**2.
// CHECK-LABEL: func.func @sech2(
// CHECK: [[R:%.+]] = "qb.sech2"(%arg0)
// CHECK: [[H:%.+]] = "qb.tanh"(%arg0)
// CHECK: [[TWO:%.+]] = "qb.constant"() {value = dense<-2.000000e+00> : tensor<f64>}
// CHECK: [[P:%.+]] = "qb.mul"([[TWO]], [[H]])
// CHECK: [[D:%.+]] = "qb.mul"([[P]], [[R]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @sech2(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sech2"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / sqrt(1 + x**2).
// CHECK-LABEL: func.func @arcsinh(
// CHECK: [[R:%.+]] = "qb.arcsinh"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[H:%.+]] = "qb.hypot"([[ONE]], %arg0)
// CHECK: [[D:%.+]] = "qb.div"([[ONE]], [[H]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @arcsinh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arcsinh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (sqrt(x - 1) sqrt(x + 1)).
// CHECK-LABEL: func.func @arccosh(
// CHECK: [[R:%.+]] = "qb.arccosh"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[A:%.+]] = "qb.sub"(%arg0, [[ONE]])
// CHECK: [[P:%.+]] = "qb.rsqrt"([[A]])
// CHECK: [[B:%.+]] = "qb.add"(%arg0, [[ONE]])
// CHECK: [[Q:%.+]] = "qb.rsqrt"([[B]])
// CHECK: [[D:%.+]] = "qb.mul"([[P]], [[Q]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @arccosh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arccosh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (1 - x**2).
// CHECK-LABEL: func.func @arctanh(
// CHECK: [[R:%.+]] = "qb.arctanh"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[A:%.+]] = "qb.sub"([[ONE]], %arg0)
// CHECK: [[B:%.+]] = "qb.add"([[ONE]], %arg0)
// CHECK: [[P:%.+]] = "qb.mul"([[A]], [[B]])
// CHECK: [[D:%.+]] = "qb.div"([[ONE]], {{%.+}})
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @arctanh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arctanh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// exp is its own derivative.
// CHECK-LABEL: func.func @exp(
// CHECK: [[R:%.+]] = "qb.exp"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[R]])
// CHECK: return [[R]], [[T]]
func.func @exp(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.exp"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @expm1(
// CHECK: [[R:%.+]] = "qb.expm1"(%arg0)
// CHECK: [[D:%.+]] = "qb.exp"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @expm1(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.expm1"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (4 cosh(x / 2)**2).
// CHECK-LABEL: func.func @logistic(
// CHECK: [[R:%.+]] = "qb.logistic"(%arg0)
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>}
// CHECK: [[H:%.+]] = "qb.mul"([[HALF]], %arg0)
// CHECK: [[S:%.+]] = "qb.sech2"([[H]])
// CHECK: [[QUARTER:%.+]] = "qb.constant"() {value = dense<2.500000e-01> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[QUARTER]], [[S]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @logistic(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.logistic"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @softplus(
// CHECK: [[R:%.+]] = "qb.softplus"(%arg0)
// CHECK: [[D:%.+]] = "qb.logistic"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @softplus(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.softplus"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @log(
// CHECK: [[R:%.+]] = "qb.log"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.div"([[ONE]], %arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @log(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @log1p(
// CHECK: [[R:%.+]] = "qb.log1p"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[A:%.+]] = "qb.add"([[ONE]], %arg0)
// CHECK: [[D:%.+]] = "qb.div"([[ONE]], [[A]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @log1p(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log1p"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (x ln 2); 1 / ln 2 = 1.44269504...
// CHECK-LABEL: func.func @log2(
// CHECK: [[R:%.+]] = "qb.log2"(%arg0)
// CHECK: [[SCALE:%.+]] = "qb.constant"() {value = dense<1.4426950408889634> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.div"([[SCALE]], %arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @log2(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log2"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (x ln 10); 1 / ln 10 = 0.43429448...
// CHECK-LABEL: func.func @log10(
// CHECK: [[R:%.+]] = "qb.log10"(%arg0)
// CHECK: [[SCALE:%.+]] = "qb.constant"() {value = dense<0.43429448190325182> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.div"([[SCALE]], %arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @log10(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log10"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 2 / sqrt(pi) exp(-x**2); 2 / sqrt(pi) = 1.12837916...
// CHECK-LABEL: func.func @erf(
// CHECK: [[R:%.+]] = "qb.erf"(%arg0)
// CHECK: [[B:%.+]] = "qb.bell"(%arg0)
// CHECK: [[E:%.+]] = "qb.mul"([[B]], [[B]])
// CHECK: [[SCALE:%.+]] = "qb.constant"() {value = dense<1.1283791670955126> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[SCALE]], [[E]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @erf(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.erf"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -2 / sqrt(pi) exp(-x**2).
// CHECK-LABEL: func.func @erfc(
// CHECK: [[R:%.+]] = "qb.erfc"(%arg0)
// CHECK: [[B:%.+]] = "qb.bell"(%arg0)
// CHECK: [[E:%.+]] = "qb.mul"([[B]], [[B]])
// CHECK: [[SCALE:%.+]] = "qb.constant"() {value = dense<-1.1283791670955126> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[SCALE]], [[E]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @erfc(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.erfc"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / sqrt(2 pi) exp(-x**2 / 2); 1 / sqrt(2 pi) = 0.39894228...
// CHECK-LABEL: func.func @normal_cdf(
// CHECK: [[R:%.+]] = "qb.normal_cdf"(%arg0)
// CHECK: [[B:%.+]] = "qb.bell"(%arg0)
// CHECK: [[SCALE:%.+]] = "qb.constant"() {value = dense<0.3989422804014327> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[SCALE]], [[B]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @normal_cdf(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.normal_cdf"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -x exp(-x**2 / 2), with 0 for an x so large that its product by 0 might be NaN.
// CHECK-LABEL: func.func @bell(
// CHECK: [[R:%.+]] = "qb.bell"(%arg0)
// CHECK: [[A:%.+]] = "qb.abs"(%arg0)
// CHECK: [[END:%.+]] = "qb.constant"() {value = dense<4.200000e+01> : tensor<f64>}
// CHECK: [[FAR:%.+]] = "qb.compare"([[A]], [[END]]) {kind = "greater"}
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: [[X:%.+]] = "qb.where"([[FAR]], [[ZERO]], %arg0)
// CHECK: [[N:%.+]] = "qb.neg"([[X]])
// CHECK: [[D:%.+]] = "qb.mul"([[N]], [[R]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @bell(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.bell"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (2 sqrt(x)), and 0 at 0 by convention.
// CHECK-LABEL: func.func @sqrt(
// CHECK: [[R:%.+]] = "qb.sqrt"(%arg0)
// CHECK: [[ZERO:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<f64>}
// CHECK: [[AT:%.+]] = "qb.compare"([[R]], [[ZERO]]) {kind = "equal"}
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[S:%.+]] = "qb.where"([[AT]], [[ONE]], [[R]])
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<5.000000e-01> : tensor<f64>}
// CHECK: [[Q:%.+]] = "qb.div"([[HALF]], [[S]])
// CHECK: [[D:%.+]] = "qb.where"([[AT]], [[ZERO]], [[Q]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @sqrt(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sqrt"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// -1/2 x**(-3/2).
// CHECK-LABEL: func.func @rsqrt(
// CHECK: [[R:%.+]] = "qb.rsqrt"(%arg0)
// CHECK: [[Q:%.+]] = "qb.div"([[R]], %arg0)
// CHECK: [[HALF:%.+]] = "qb.constant"() {value = dense<-5.000000e-01> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[HALF]], [[Q]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @rsqrt(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.rsqrt"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// 1 / (3 cbrt(x)**2).
// CHECK-LABEL: func.func @cbrt(
// CHECK: [[R:%.+]] = "qb.cbrt"(%arg0)
// CHECK: [[ONE:%.+]] = "qb.constant"() {value = dense<1.000000e+00> : tensor<f64>}
// CHECK: [[Q:%.+]] = "qb.div"([[ONE]], [[R]])
// CHECK: [[S:%.+]] = "qb.mul"([[Q]], [[Q]])
// CHECK: [[THREE:%.+]] = "qb.constant"() {value = dense<3.000000e+00> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.div"([[S]], [[THREE]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @cbrt(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cbrt"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The sign, which is 0 at 0.
// CHECK-LABEL: func.func @abs(
// CHECK: [[R:%.+]] = "qb.abs"(%arg0)
// CHECK: [[D:%.+]] = "qb.sign"(%arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @abs(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.abs"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @neg(
// CHECK: [[R:%.+]] = "qb.neg"(%arg0)
// CHECK: [[T:%.+]] = "qb.neg"(%arg1)
// CHECK: return [[R]], [[T]]
func.func @neg(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.neg"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// n x**(n - 1).
// CHECK-LABEL: func.func @powi(
// CHECK: [[R:%.+]] = "qb.powi"(%arg0) {n = 3 : i64}
// CHECK: [[P:%.+]] = "qb.powi"(%arg0) {n = 2 : i64}
// CHECK: [[N:%.+]] = "qb.constant"() {value = dense<3.000000e+00> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[N]], [[P]])
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @powi(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.powi"(%x) {n = 3 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// The derivative of x**2 is 2 x.
// CHECK-LABEL: func.func @square(
// CHECK: [[R:%.+]] = "qb.powi"(%arg0) {n = 2 : i64}
// CHECK: [[N:%.+]] = "qb.constant"() {value = dense<2.000000e+00> : tensor<f64>}
// CHECK: [[D:%.+]] = "qb.mul"([[N]], %arg0)
// CHECK: [[T:%.+]] = "qb.mul"(%arg1, [[D]])
// CHECK: return [[R]], [[T]]
func.func @square(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.powi"(%x) {n = 2 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sign(
// CHECK: [[R:%.+]] = "qb.sign"(%arg0)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @sign(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sign"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @floor(
// CHECK: [[R:%.+]] = "qb.floor"(%arg0)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @floor(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.floor"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @ceil(
// CHECK: [[R:%.+]] = "qb.ceil"(%arg0)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @ceil(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ceil"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @round(
// CHECK: [[R:%.+]] = "qb.round"(%arg0)
// CHECK: [[Z:%.+]] = "qb.constant"() {value = dense<0.000000e+00> : tensor<3xf64>}
// CHECK: return [[R]], [[Z]]
func.func @round(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.round"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
