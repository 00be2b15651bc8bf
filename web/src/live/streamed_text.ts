// Piece is a part of the model output in the stream: offset is the number of bytes of this
// attempt's text before it.
export type Piece = {call?: string; attempt?: number; offset?: number; text?: string}

type Attempt = {attempt: number; text: string; bytes: number}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

// gap replaces missing pieces.
export const gap = ' … '

// StreamedText collects the model output in progress, by call. After a connection broke, pieces of a call
// may be repeated or missing.
export class StreamedText {
  readonly #calls = new Map<string, Attempt>()

  add({call = '', attempt = 1, offset = 0, text = ''}: Piece): void {
    const before = this.#calls.get(call)
    const bytes = encoder.encode(text)
    const end = offset + bytes.length
    const held = before?.attempt === attempt && offset > 0 ? before : {attempt, text: '', bytes: 0}
    if (offset > 0 && end <= held.bytes) return
    const more =
      offset > held.bytes
        ? gap + text
        : offset < held.bytes
          ? decoder.decode(bytes.subarray(held.bytes - offset))
          : text
    this.#calls.set(call, {attempt, text: held.text + more, bytes: end})
  }

  drop(call: string): void {
    this.#calls.delete(call)
  }

  texts(): Map<string, string> {
    return new Map([...this.#calls].map(([call, s]) => [call, s.text]))
  }
}
