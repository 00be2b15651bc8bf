import {expect, it, vi} from 'vitest'
import {readText} from './read_text.ts'

const stream = (bytes: Uint8Array, size: number): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream({
    pull(c) {
      if (at >= bytes.length) c.close()
      else c.enqueue(bytes.slice(at, at + size))
      at += size
    },
  })
}

it('reads a text as response.text() does, wherever it is cut', async () => {
  for (const bytes of [
    new Uint8Array(),
    new TextEncoder().encode('Größe, 漢字, 🎵\r\n'.repeat(20)),
    Uint8Array.from([0xef, 0xbb, 0xbf, 0x61]), // a byte order mark
    Uint8Array.from([0x61, 0xff, 0xf0, 0x9f, 0x8e]), // invalid UTF-8, and truncated
  ])
    for (const size of [1, 2, 3, 7, 1000])
      expect(await readText(stream(bytes, size)), `${bytes} by ${size}`).toBe(await new Response(bytes).text())
})

it('gives way to others while a long text comes, and tells how much has come', async () => {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 11)) // each reading of the clock counts as work
  const told: number[] = []
  let others = 0
  const timer = setInterval(() => others++)
  await readText(stream(new Uint8Array(40).fill(0x61), 1), n => told.push(n))
  clearInterval(timer)
  vi.restoreAllMocks()
  expect(told.length).toBeGreaterThan(5)
  expect(told).toEqual(told.toSorted((a, b) => a - b))
  expect(others).toBeGreaterThan(0)
})

it('says what goes wrong while it reads', async () => {
  const broken = new ReadableStream<Uint8Array>({pull: c => c.error(new Error('the connection was lost'))})
  await expect(readText(broken)).rejects.toThrow('the connection was lost')
})
