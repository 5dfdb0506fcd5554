func.func @f() {
  // ÿþ
  return
}
