// RUN: qb-opt %s --qb-vmap=size=4 | filecheck %s

// An elementwise op maps to itself on the larger array.

// CHECK-LABEL: func.func @sin(
// CHECK: [[R:%.+]] = "qb.sin"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @sin(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @cos(
// CHECK: [[R:%.+]] = "qb.cos"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @cos(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cos"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @tan(
// CHECK: [[R:%.+]] = "qb.tan"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @tan(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.tan"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @arcsin(
// CHECK: [[R:%.+]] = "qb.arcsin"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @arcsin(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arcsin"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @arccos(
// CHECK: [[R:%.+]] = "qb.arccos"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @arccos(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arccos"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @arctan(
// CHECK: [[R:%.+]] = "qb.arctan"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @arctan(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arctan"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sinh(
// CHECK: [[R:%.+]] = "qb.sinh"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @sinh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sinh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @cosh(
// CHECK: [[R:%.+]] = "qb.cosh"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @cosh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cosh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @tanh(
// CHECK: [[R:%.+]] = "qb.tanh"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @tanh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.tanh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sech2(
// CHECK: [[R:%.+]] = "qb.sech2"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @sech2(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sech2"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @arcsinh(
// CHECK: [[R:%.+]] = "qb.arcsinh"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @arcsinh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arcsinh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @arccosh(
// CHECK: [[R:%.+]] = "qb.arccosh"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @arccosh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arccosh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @arctanh(
// CHECK: [[R:%.+]] = "qb.arctanh"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @arctanh(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.arctanh"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @exp(
// CHECK: [[R:%.+]] = "qb.exp"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @exp(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.exp"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @expm1(
// CHECK: [[R:%.+]] = "qb.expm1"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @expm1(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.expm1"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @logistic(
// CHECK: [[R:%.+]] = "qb.logistic"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @logistic(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.logistic"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @softplus(
// CHECK: [[R:%.+]] = "qb.softplus"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @softplus(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.softplus"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @log(
// CHECK: [[R:%.+]] = "qb.log"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @log(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @log1p(
// CHECK: [[R:%.+]] = "qb.log1p"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @log1p(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log1p"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @log2(
// CHECK: [[R:%.+]] = "qb.log2"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @log2(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log2"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @log10(
// CHECK: [[R:%.+]] = "qb.log10"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @log10(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.log10"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @normal_cdf(
// CHECK: [[R:%.+]] = "qb.normal_cdf"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @normal_cdf(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.normal_cdf"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @bell(
// CHECK: [[R:%.+]] = "qb.bell"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @bell(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.bell"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @erf(
// CHECK: [[R:%.+]] = "qb.erf"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @erf(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.erf"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @erfc(
// CHECK: [[R:%.+]] = "qb.erfc"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @erfc(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.erfc"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sqrt(
// CHECK: [[R:%.+]] = "qb.sqrt"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @sqrt(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sqrt"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @rsqrt(
// CHECK: [[R:%.+]] = "qb.rsqrt"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @rsqrt(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.rsqrt"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @cbrt(
// CHECK: [[R:%.+]] = "qb.cbrt"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @cbrt(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.cbrt"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @abs(
// CHECK: [[R:%.+]] = "qb.abs"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @abs(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.abs"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @neg(
// CHECK: [[R:%.+]] = "qb.neg"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @neg(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.neg"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @sign(
// CHECK: [[R:%.+]] = "qb.sign"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @sign(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.sign"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @floor(
// CHECK: [[R:%.+]] = "qb.floor"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @floor(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.floor"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @ceil(
// CHECK: [[R:%.+]] = "qb.ceil"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @ceil(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.ceil"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @round(
// CHECK: [[R:%.+]] = "qb.round"(%arg0) : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @round(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.round"(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}

// CHECK-LABEL: func.func @powi(
// CHECK: [[R:%.+]] = "qb.powi"(%arg0) {n = 3 : i64} : (tensor<4x3xf64>) -> tensor<4x3xf64>
// CHECK: return [[R]]
func.func @powi(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = "qb.powi"(%x) {n = 3 : i64} : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}
