// Input typed into the form of a node is kept: an incomplete value, the digits of a number that
// nothing changed, and the focus.
import {caller, check, settled, signIn, until, withPages} from './lib.mjs'

const document =
  `{"name": "Post",
 "nodes": [
   {"id": "start", "type": "start", "data": {"initialInput": "bees"}},
   {"id": "call", "type": "tool", "data": {"tool": "note", ` +
  `"args": {"n": 12345678901234567890, "price": 1.50}, "odd": [1e2]}},
   {"id": "writer", "type": "agent", "data": {"agentName": "Writer", ` +
  `"userPrompt": "{{PREVIOUS_OUTPUT}}", "maxIterations": 3}}],
 "connections": [{"source": "start", "target": "writer"}, {"source": "writer", "target": "call"}]}
`

const nodeOf = (page, id) => page.locator(`.react-flow__node[data-id="${id}"]`)

// fields checks that the form of a node changes only what was typed, and keeps input that is not a
// value yet.
async function fields(page, api, origin) {
  await api('/workflows', {id: 'post', document, draft: true})
  await page.goto(`${origin}/workflows/post/edit`)
  await nodeOf(page, 'call').dblclick()
  const form = page.locator('section[data-inspector]')
  // The form does not know this key, and shows it as JSON.
  const odd = form.getByLabel('Odd', {exact: true})
  await until(
    'the digits are those of the document',
    async () => (await odd.inputValue()).includes('1e2'),
    () => odd.inputValue(),
  )
  // An incomplete value is typed, then another field is edited: the input is kept, with the reason.
  await odd.fill('[1e2, ')
  await form.getByText('Not valid JSON').waitFor()
  await form.getByLabel('Tool', {exact: true}).fill('note2')
  check('half of a value stays', (await odd.inputValue()) === '[1e2, ', await odd.inputValue())
  await form.getByText('Not valid JSON').waitFor()
  // The input is also kept if another node and the text are shown in between.
  await nodeOf(page, 'writer').click()
  await form.getByLabel('Name', {exact: true}).first().waitFor()
  await page.getByRole('tab', {name: 'Text'}).click()
  await page.getByRole('tab', {name: 'Canvas'}).click()
  await nodeOf(page, 'call').dblclick()
  check('it is there again', (await odd.inputValue()) === '[1e2, ', await odd.inputValue())
  await odd.press('Control+End')
  await page.keyboard.insertText('12345678901234567890]')
  await form.getByText('Not valid JSON').waitFor({state: 'detached'})
  // A field that is emptied or filled stays in its position and keeps the focus.
  const focused = () => page.evaluate(() => document.activeElement?.id)
  await nodeOf(page, 'writer').click()
  const limit = form.getByLabel('Max iterations')
  await limit.focus()
  const id = await focused()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  check('the emptied field has the focus', (await focused()) === id)
  await page.keyboard.type('12345678901234567890')
  check('the number is there', (await limit.inputValue()) === '12345678901234567890', await limit.inputValue())
  await limit.fill('3')
  await form.getByText(/^\d+ more$/).click()
  const welcome = form.locator('details').getByLabel('Welcome message')
  await welcome.focus()
  const other = await focused()
  await page.keyboard.type('ab')
  check('the filled field has the focus', (await focused()) === other)
  await welcome.fill('')
  // A name is typed with the keyboard, and the focus moves to the next field.
  await form.getByLabel('Agent id').fill('author')
  await page.keyboard.press('Tab')
  await nodeOf(page, 'author').waitFor()
  check(
    'the focus is in the form',
    await page.evaluate(() => document.activeElement?.closest('[data-inspector]') !== null),
  )
  await page.keyboard.press('Control+s')
  await page.getByRole('status').filter({hasText: 'Stored as draft'}).first().waitFor()
  const want = document
    .replaceAll('"writer"', '"author"')
    .replace('"note"', '"note2"')
    .replace('[1e2]', '[1e2, 12345678901234567890]')
  const now = (await api('/workflows/post?draft=true')).document
  check('nothing else is changed', now === want, now)
}

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open}) => {
    const api = caller(origin, token)
    const page = await open()
    page.setDefaultTimeout(20_000)
    await signIn(page, origin, token)
    await fields(page, api, origin)
    await settled(page)
  })
