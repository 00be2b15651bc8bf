const slice = 20 // milliseconds of work at a time

// readText gives the text of an answer in UTF-8 as response.text() does, without holding up the page while megabytes come: it reads a part at a time. told hears how many bytes have come.
export async function readText(
  body: ReadableStream<Uint8Array>,
  told: (bytes: number) => void = () => {},
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
    told(bytes)
    await new Promise(next => setTimeout(next))
    begun = performance.now()
  }
}
