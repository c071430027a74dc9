// Stands for bcryptprimitives.dll, which Rust's programs need and Wine 8 lacks.
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID data, ULONG length);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
  return SystemFunction036(data, (ULONG)length);
}
