const slice = 20 // milliseconds of work at a time

// readText returns the text of a UTF-8 response as response.text() does, without blocking the page
// while megabytes arrive: it reads one part at a time. It calls progress with the number of bytes
// received.
export async function readText(
  body: ReadableStream<Uint8Array>,
  progress: (bytes: number) => void = () => {},
): Promise<string> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let text = ''
  let bytes = 0
  let begun = performance.now()
  for (;;) {
    const {done, value} = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value, {stream: true})
    bytes += value.byteLength
    if (performance.now() - begun < slice) continue
    progress(bytes)
    await new Promise(next => setTimeout(next))
    begun = performance.now()
  }
}
