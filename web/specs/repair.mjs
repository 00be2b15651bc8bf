// From a failed step the user goes to its line, stores the fix as a draft, tests it,
// publishes it and continues the run without repeating an earlier call: the model counts its
// requests. The spec runs in the dark theme.
import {caller, check, settled, signIn, withPages} from './lib.mjs'
import {model} from './model.mjs'
import {serve} from './server.mjs'

const broken = `agents:
  writer: {model: openai/gpt-5-mini, instruction: Write a letter.}
workflow:
  - {id: write, type: agent, name: writer}
  - {id: pick, type: set, values: {text: "{{ $steps.write.output.letter }}"}}
  - {type: end, output: "sent: {{ $steps.pick.output.text }}"}
`
const mended = broken.replace('write.output.letter', 'write.output')

export async function spec(browser, {token, program, scratch}) {
  const fake = await model({home: scratch}, (_, n) => ({text: n === 1 ? 'first letter' : 'another letter'}))
  const server = await serve({program, home: scratch, token})
  try {
    await play(browser, {origin: server.origin, token, fake})
  } finally {
    await server.kill()
    fake.close()
  }
}

const play = (browser, {origin, token, fake}) =>
  withPages(browser, origin, async ({open}) => {
    const api = caller(origin, token)
    await api('/workflows', {id: 'mail', document: broken})
    const failed = await api('/runs?wait=20s', {workflow: 'mail', input: 'Dear Ada'})
    check('the run fails, after a call', failed.status === 'failed' && fake.asked.length === 1, JSON.stringify(failed))
    const page = await open({colorScheme: 'dark'})
    await signIn(page, origin, token)
    await page.goto(`${origin}/runs/${failed.id}?tab=steps&step=2`)
    await settled(page)
    await page.getByRole('link', {name: 'Its line in the document'}).click()
    await page.locator('.cm-activeLine', {hasText: 'id: pick'}).waitFor()
    await page.getByRole('group', {name: 'Why the run failed'}).getByText('has no value').waitFor()
    await page.locator('[data-state="failed"]', {hasText: 'pick'}).waitFor()

    await page.getByRole('textbox', {name: 'Document', exact: true}).click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(mended)
    await page.getByRole('status').filter({hasText: 'no problems'}).waitFor()
    await page.keyboard.press('Control+s')
    await page.getByRole('status').filter({hasText: 'Stored as draft v2.'}).waitFor()
    check('the draft is what was typed', (await api('/workflows/mail?draft=true')).document === mended)

    await page.getByRole('button', {name: 'Test run'}).click()
    const dialog = page.getByRole('dialog', {name: 'Test run'})
    await dialog.getByLabel('Input').fill('Dear Ada')
    await dialog.getByRole('button', {name: 'Run'}).click()
    await page.locator('[data-state="succeeded"]', {hasText: 'pick'}).waitFor()
    await page.getByRole('status').filter({hasText: 'Completed'}).first().waitFor()
    const tested = fake.asked.length
    check('the test run called the model', tested === 2, String(tested))

    await page.getByRole('button', {name: 'Publish'}).click()
    await page.getByRole('status').filter({hasText: 'Published v2.'}).waitFor()

    await page.goto(`${origin}/runs/${failed.id}`)
    await settled(page)
    await page.getByRole('button', {name: 'Continue'}).click()
    const more = page.getByRole('dialog', {name: 'Continue as a new run'})
    await more.getByLabel('From').selectOption('pick')
    const renew = more.getByRole('checkbox', {name: 'With v2, which is published now, not with v1'})
    await renew.waitFor()
    check('the mended version is chosen', await renew.isChecked())
    await more.getByRole('button', {name: 'Continue'}).click()
    await page.getByText('sent: first letter').first().waitFor()
    const id = new URL(page.url()).pathname.split('/').at(-1)
    const after = await api(`/runs/${id}`)
    check(
      'it has the reply of the first run',
      id !== failed.id && after.status === 'completed' && after.output === 'sent: first letter',
      JSON.stringify(after),
    )
    check(
      'it is a run of the mended version',
      after.workflow.id === failed.workflow.id && after.workflow.version === 2,
      JSON.stringify(after.workflow),
    )
    check('the model is not called again for what was done', fake.asked.length === tested, String(fake.asked.length))
    check('there are three runs', (await api('/runs?limit=10')).items.length === 3)
  })
