// mostBytes limits the size of a file that is read: the server accepts no larger document.
const mostBytes = 8 << 20

// textOf returns the text of a file unchanged, with its byte order mark. It throws if the file is
// too large or not valid UTF-8.
export async function textOf(file: Pick<File, 'size' | 'arrayBuffer'>): Promise<string> {
  if (file.size > mostBytes) throw new Error('The file is larger than 8 MB, which no document is.')
  try {
    return new TextDecoder('utf-8', {ignoreBOM: true, fatal: true}).decode(await file.arrayBuffer())
  } catch {
    throw new Error('The file is no text in UTF-8.')
  }
}

// fileName returns the file name of a document; characters that are special in file systems are
// replaced.
export const fileName = (id: string, text: string): string => {
  const name = id.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+/, '') || 'workflow'
  return `${name}.${/^[\s\ufeff]*[{[]/.test(text) ? 'json' : 'yaml'}`
}

// download saves a text as a file in the browser, byte for byte.
export function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], {type: 'application/octet-stream'}))
  const a = document.createElement('a')
  a.href = address
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
