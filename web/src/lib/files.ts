// mostBytes bounds what is read of a file: the server takes no larger document.
const mostBytes = 8 << 20

// textOf gives the text of a file unit for unit, with its byte order mark. Errors: the file is too large, or is no UTF-8.
export async function textOf(file: Pick<File, 'size' | 'arrayBuffer'>): Promise<string> {
  if (file.size > mostBytes) throw new Error('The file is larger than 8 MB, which no document is.')
  try {
    return new TextDecoder('utf-8', {ignoreBOM: true, fatal: true}).decode(await file.arrayBuffer())
  } catch {
    throw new Error('The file is no text in UTF-8.')
  }
}

// fileName gives the name of a document's file; characters that file systems take otherwise are replaced.
export const fileName = (id: string, text: string): string =>
  `${id.replace(/[^\p{L}\p{N}._-]+/gu, '-').replace(/^[.-]+/, '') || 'workflow'}.${/^[\s\ufeff]*[{[]/.test(text) ? 'json' : 'yaml'}`

// download gives a text to the browser as a file, byte for byte.
export function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], {type: 'application/octet-stream'}))
  const a = document.createElement('a')
  a.href = address
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}
