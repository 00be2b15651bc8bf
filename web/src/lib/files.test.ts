import {describe, expect, it} from 'vitest'
import {fileName, textOf} from './files.ts'

const file = (bytes: number[], size = bytes.length) => ({size, arrayBuffer: async () => new Uint8Array(bytes).buffer})

describe('files', () => {
  it('are read unit for unit', async () => {
    const text = '\ufeffworkflow:\r\n  ä👩'
    expect(await textOf(file([...new TextEncoder().encode(text)]))).toBe(text)
    await expect(textOf(file([0xff, 0xfe]))).rejects.toThrow('UTF-8')
    await expect(textOf(file([], 9 << 20))).rejects.toThrow('8 MB')
  })
  it.each([
    ['letter', 'workflow: []', 'letter.yaml'],
    ['../a b/c', '{"a": 1}', 'a-b-c.json'],
    ['größe.2', '\ufeff [1]', 'größe.2.json'],
    ['///', '', 'workflow.yaml'],
  ])('of %j are named', (id, text, want) => expect(fileName(id, text)).toBe(want))
})
