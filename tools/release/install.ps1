# Installs the command `whyloss` of the latest release on Windows:
#
#   irm https://github.com/whyloss/whyloss/releases/latest/download/install.ps1 | iex
$ErrorActionPreference = 'Stop'
$release = if ($env:WHYLOSS_RELEASE) { $env:WHYLOSS_RELEASE } else { 'https://github.com/whyloss/whyloss/releases/latest/download' }
$bin = if ($env:WHYLOSS_BIN) { $env:WHYLOSS_BIN } else { Join-Path $env:LOCALAPPDATA 'whyloss\bin' }
$name = 'whyloss-x86_64-pc-windows-msvc'
$work = New-Item -ItemType Directory -Path (Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid()))
try {
    $archive = Join-Path $work "$name.tar.gz"
    Invoke-WebRequest "$release/$name.tar.gz" -OutFile $archive
    Invoke-WebRequest "$release/$name.tar.gz.sha256" -OutFile "$archive.sha256"
    $wanted = ((Get-Content "$archive.sha256") -split ' ')[0]
    if ((Get-FileHash $archive -Algorithm SHA256).Hash -ne $wanted) { throw "$name.tar.gz does not match its checksum; nothing was installed" }
    tar -xzf $archive -C $work
    New-Item -ItemType Directory -Force -Path $bin | Out-Null
    Copy-Item (Join-Path $work "$name\whyloss.exe") $bin -Force
    Write-Output "installed $bin\whyloss.exe"
} finally {
    Remove-Item -Recurse -Force $work
}
