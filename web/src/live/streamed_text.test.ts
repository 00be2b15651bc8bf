import {expect, it} from 'vitest'
import {gap, type Piece, StreamedText} from './streamed_text.ts'

const said = (...pieces: Piece[]) => {
  const s = new StreamedText()
  for (const p of pieces) s.add({call: '1.1', attempt: 1, ...p})
  return s.texts().get('1.1')
}

it('joins pieces, whose offsets count bytes', () => {
  expect(said({offset: 0, text: 'Süß '}, {offset: 6, text: 'und '}, {offset: 10, text: 'gut'})).toBe('Süß und gut')
})
it('begins anew where the pieces of a call come again after a connection that broke', () => {
  const pieces = [
    {offset: 0, text: 'Once '},
    {offset: 5, text: 'upon '},
  ]
  expect(said(...pieces, ...pieces, {offset: 10, text: 'a time'})).toBe('Once upon a time')
})
it('takes no piece twice, and of one that overlaps what is new', () => {
  expect(said({offset: 0, text: 'Once '}, {offset: 5, text: 'upon '}, {offset: 5, text: 'upon '})).toBe('Once upon ')
  expect(said({offset: 0, text: 'Once '}, {offset: 3, text: 'e upon'})).toBe('Once upon')
})
it('shows that pieces are missing', () => {
  expect(said({offset: 0, text: 'Once '}, {offset: 12, text: 'time'}, {offset: 16, text: '.'})).toBe(`Once ${gap}time.`)
  expect(said({offset: 12, text: 'time'})).toBe(`${gap}time`)
})
it('begins anew with another attempt, also where its first piece is missing', () => {
  expect(said({offset: 0, text: 'Once '}, {attempt: 2, offset: 3, text: 'wo'})).toBe(`${gap}wo`)
})
