// Versions are compared as text and as graphs, published and restored; schedules are paused,
// skipped, resumed and run.
import {caller, check, settled, signIn, withPages} from './lib.mjs'

const first =
  'workflow:\n  - {id: ok, type: set, values: {text: "{{ $input }}"}}\n  - {id: out, type: end, output: done}\n'
const second =
  '# Later.\nworkflow:\n  - {id: ok, type: set, values: {text: "{{ $input }}!"}}\n' +
  '  - {id: ask, type: approval, prompt: Send it?}\n'
const nightly = 'schedule: "0 6 * * *"\nworkflow:\n  - {id: ok, type: set, values: {text: x}}\n'

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open}) => {
    const api = caller(origin, token)
    await api('/workflows', {id: 'letter', document: first})
    await api('/workflows/letter', {document: second, draft: true}, 'PUT')
    await api('/workflows', {id: 'nightly', document: nightly})
    const page = await open()
    await signIn(page, origin, token)
    await page.goto(`${origin}/workflows/letter/versions`)
    await settled(page)
    const changes = page.getByRole('list', {name: 'Changes of the graph'})
    for (const text of ['changed set ok', 'removed end out', 'added approval ask'])
      await changes.getByText(text).waitFor()
    await page.getByRole('textbox', {name: 'Text of v2'}).getByText('# Later.').waitFor()
    await page.getByRole('button', {name: 'Publish v2'}).click()
    await page.getByRole('heading', {name: 'v1 → v2, published'}).waitFor()
    check('it is published', (await api('/workflows/letter')).document === second)
    await page.getByRole('radio', {name: 'with v1', exact: true}).click()
    await page.waitForURL(/b=1/)
    await page.getByRole('button', {name: 'Restore v1 as draft'}).click()
    await page.getByRole('textbox', {name: 'Document', exact: true}).waitFor()
    const restored = await api('/workflows/letter?draft=true')
    check('the old text is the draft', restored.document === first, JSON.stringify(restored))
    check('what is published stays', (await api('/workflows/letter')).document === second)

    await page.goto(`${origin}/schedules`)
    await settled(page)
    const row = page.getByRole('listitem').filter({hasText: '0 6 * * *'})
    await row.getByRole('img', {name: /^Next times: /}).waitFor()
    const act = name => row.getByRole('button', {name: `${name}: nightly`}).click()
    await act('Skip the next')
    await row.getByText(/skipped until/).waitFor()
    await act('Pause')
    await row.getByText(/paused by/).waitFor()
    check('it is paused', (await api('/schedules')).items[0].paused !== null)
    await act('Resume')
    await row.getByText(/paused by/).waitFor({state: 'detached'})
    await act('Run now')
    await row
      .getByText(/a run was asked for|last run/)
      .first()
      .waitFor()
  })
