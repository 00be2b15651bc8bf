// Done-when 5, as far as it is built: two pages on one wait, one answer has effect, and the other page says who was first.
import {caller, check, settled, signIn, withBrowser} from './lib.mjs'

const document = `workflow:
  - {id: letter, type: set, values: {text: "{{ $input }}"}}
  - {id: ok, type: approval, prompt: Send it?, reject: [{type: end, status: failed, message: "not sent: {{ $steps.ok.note }}"}]}
  - {type: end, output: "sent: {{ $steps.letter.output.text }}"}
`

export const spec = (chromium, {origin, token}) =>
  withBrowser(chromium, origin, async ({open, allow}) => {
    const api = caller(origin, token)
    const run = await api('/runs?wait=20s', {document, format: 'steps', name: 'letter', input: 'Dear Ada, come on Sunday.'})
    const path = `${origin}/inbox/${run.id}/${run.waiting[0].id}`
    const phone = {viewport: {width: 390, height: 844}}
    const [first, second, watcher] = [await open(phone), await open(phone), await open()]
    for (const page of [first, second, watcher]) await signIn(page, origin, token)
    await watcher.goto(`${origin}/runs/${run.id}`)
    await watcher.getByRole('link', {name: 'Decide'}).waitFor()
    for (const page of [first, second]) {
      await page.goto(path)
      await settled(page)
      await page.getByRole('region', {name: 'what is judged'}).getByText('Dear Ada, come on Sunday.').waitFor()
    }
    allow(/status of 409/)
    await first.getByLabel('Note, recorded with the answer').fill('she asked for it')
    await first.getByRole('button', {name: 'Approve'}).click()
    await first.getByText('Answered: approve').waitFor()
    // The run page, which is open, sees the end by itself.
    await watcher.getByText('sent: Dear Ada, come on Sunday.').first().waitFor()
    // The other page either says that this no longer waits, or is refused: it has no effect.
    const late = second.getByRole('button', {name: 'Reject'})
    if (await late.isVisible()) await late.click().catch(() => undefined)
    await second
      .getByText(/no longer waits|Conflict|not waiting|was first|answered/i)
      .first()
      .waitFor()
    const after = await api(`/runs/${run.id}`)
    check(
      'one answer has effect',
      after.status === 'completed' && after.answers.length === 1 && after.answers[0].note === 'she asked for it',
      JSON.stringify(after.answers),
    )
  })
