// A person answers a test run next to the drawing: an approval and a question, a held call, a
// budget, and a call of unknown outcome. The changes typed into the document are kept, and so is
// the drawing with its states. The spec covers the keyboard, a phone, and an answer that another
// client submits first.
import {look} from './axe.mjs'
import {budget, comfortable, held, letter, lost, phone, two} from './decide.mjs'
import {caller, check, ended, reach, settled, signIn, until, withPages} from './lib.mjs'

const pane = page => page.getByRole('region', {name: 'Answer', exact: true})
const note = page => pane(page).getByLabel('Note, recorded with the answer')
const mark = '# not stored\n'
// tall is a canvas document of a few hundred lines, whose last node is at its end.
const tall = `{"name": "Tall", "nodes": [
  {"id": "start", "type": "start", "data": {"initialInput": "bees"}},${'\n'.repeat(300)}
  {"id": "far", "type": "agent", "data": {"agentName": "Far", "userPrompt": "{{PREVIOUS_OUTPUT}}"}}],
 "connections": [{"source": "start", "target": "far"}]}
`

// waitForFocus waits until an element has the focus.
const waitForFocus = (what, locator) => until(what, () => locator.evaluate(e => e === document.activeElement))

// typeChange changes the document without storing it.
async function typeChange(page) {
  await page.getByRole('textbox', {name: 'Document', exact: true}).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.insertText(mark)
  await page.getByRole('status').filter({hasText: 'changes not stored'}).waitFor()
}

// checkUnchanged checks that the editor is still at the same place, with the typed changes.
async function checkUnchanged(page, path, isTyped = true) {
  check('the editor stays', new URL(page.url()).pathname === path, page.url())
  if (isTyped) await page.locator('.cm-line', {hasText: mark.trim()}).waitFor()
}

export const spec = (browser, {origin, token}) =>
  withPages(browser, origin, async ({open, allow}) => {
    const api = caller(origin, token)
    for (const [id, document] of Object.entries({letter, two, held, budget, lost, tall}))
      await api('/workflows', {id, document})
    const pathOf = id => `/workflows/${id}/edit`
    const edit = async (page, id, query = '') => {
      await page.goto(origin + pathOf(id) + query)
      await settled(page)
      await page.getByRole('button', {name: 'Test run'}).waitFor()
    }
    const tests = async () => (await api('/runs?label=hocket/test-run=true&limit=100')).items
    // startTest starts a test run, and waits until the run waits for a person.
    const startTest = async page => {
      const before = (await tests()).length
      await page.getByRole('button', {name: 'Test run'}).click()
      const dialog = page.getByRole('dialog', {name: 'Test run'})
      await dialog.getByLabel('Input').fill('Dear Ada, come on Sunday.')
      await dialog.getByRole('button', {name: 'Run'}).click()
      await page.getByRole('button', {name: 'Answer', exact: true}).waitFor()
      let all = []
      const isMore = async () => {
        all = await tests()
        return all.length === before + 1
      }
      await until('there is one test run more', isMore, () => all.length) // the page may still show the previous run
      await until('it waits', async () => (await api(`/runs/${all[0].id}`)).status === 'paused')
      await page.getByRole('button', {name: 'Answer', exact: true}).waitFor()
      return all[0].id
    }
    const page = await open()
    await signIn(page, origin, token)

    // An approval is answered with the keyboard alone, next to a document that is not stored.
    await edit(page, 'letter')
    await typeChange(page)
    const first = await startTest(page)
    const answer = page.getByRole('button', {name: 'Answer', exact: true})
    await reach(page, answer, 'Shift+Tab')
    await page.keyboard.press('Enter')
    await pane(page).getByRole('heading', {name: 'Send it?'}).waitFor()
    check('the form has the focus', await pane(page).evaluate(e => e === document.activeElement))
    await pane(page).getByRole('region', {name: 'what is judged'}).getByText('Dear Ada, come on Sunday.').waitFor()
    await page.locator('[data-state="waiting"]', {hasText: 'ok'}).waitFor()
    await look(page, 'an answer beside the drawing')
    await pane(page).focus()
    await page.keyboard.press('Escape')
    await pane(page).waitFor({state: 'detached'})
    await waitForFocus('the focus is back', answer)
    await page.keyboard.press('Enter')
    await reach(page, note(page))
    await page.keyboard.insertText('she asked for it')
    await reach(page, pane(page).getByRole('button', {name: 'Approve'}))
    await page.keyboard.press('Enter')
    await pane(page).waitFor({state: 'detached'})
    check(
      'the focus is not on what stops the run',
      await page.evaluate(
        () => document.activeElement !== document.body && document.activeElement.textContent.trim() !== 'Stop',
      ),
    )
    await page.locator('[data-state="succeeded"]', {hasText: 'ok'}).waitFor()
    await page.getByRole('status').filter({hasText: 'Completed'}).first().waitFor()
    await checkUnchanged(page, pathOf('letter'))
    const over = await ended(api, first)
    check(
      'the note is that of the pane',
      over.status === 'completed' && over.answers[0].note === 'she asked for it',
      JSON.stringify(over.answers),
    )

    // Another client answers first: the form says so, and keeps the typed input.
    const second = await startTest(page)
    await answer.click()
    await note(page).fill('better not')
    const [wait] = (await api(`/runs/${second}`)).waiting
    await api(`/runs/${second}/resume?wait=10s`, {wait: wait.id, decision: 'approve'})
    await pane(page)
      .getByRole('status', {name: 'This no longer waits'})
      .getByText(/approved first/)
      .waitFor()
    check('the note is kept', (await note(page).inputValue()) === 'better not')
    await pane(page).getByRole('button', {name: 'Close the answer'}).click()
    await pane(page).waitFor({state: 'detached'})
    await waitForFocus('the focus is where the next run is started', page.getByRole('button', {name: 'Test run'}))
    await checkUnchanged(page, pathOf('letter'))

    // The typed input is kept if another client stores the workflow first.
    await startTest(page)
    await answer.click()
    await note(page).fill('typed before the conflict')
    await api('/workflows/letter', {document: `${letter}# another\n`, draft: true}, 'PUT')
    allow(/status of 409/)
    await page.keyboard.press('Control+s')
    const texts = page.getByRole('region', {name: 'Two versions of the document'})
    await texts.waitFor()
    check('the texts have the place', !(await pane(page).isVisible()))
    await texts.getByRole('button', {name: 'Go on with the right one'}).click()
    check('the note is kept in a conflict', (await note(page).inputValue()) === 'typed before the conflict')
    await pane(page).getByRole('button', {name: 'Close the answer'}).click()
    await waitForFocus('the focus is where it is answered', answer)
    await page.keyboard.press('Control+s')
    await page.getByRole('status').filter({hasText: 'Stored as draft'}).first().waitFor()

    // The input typed into the answer of the last run is kept if another run starts, which is drawn
    // once the answer is closed.
    const older = await api('/runs?wait=20s', {workflow: 'held', input: 'one'})
    await edit(page, 'held')
    const last = page.getByRole('link', {name: 'last run', exact: true})
    await answer.click()
    await note(page).fill('of the older one')
    const heard = page.waitForResponse(r => /\/runs\?workflow=held/.test(r.url()))
    const newer = await api('/runs?wait=20s', {workflow: 'held', input: 'two'})
    await heard
    await page.getByRole('textbox', {name: 'Document', exact: true}).click()
    check('the note stays', (await note(page).inputValue()) === 'of the older one')
    check('the run that is answered is drawn', (await last.getAttribute('href')).endsWith(older.id))
    await pane(page).getByRole('button', {name: 'Close the answer'}).click()
    await until('the newer run is drawn', async () => (await last.getAttribute('href'))?.endsWith(newer.id))

    // This jumps from the canvas to the end of a document that was not shown yet.
    await edit(page, 'tall')
    await page.locator('.react-flow__node[data-id="far"]').dblclick()
    await page.getByRole('button', {name: 'Show in the text'}).first().click()
    const line = page.locator('.cm-activeLine', {hasText: '"far"'})
    await line.waitFor()
    await until('the line is in view', () =>
      line.evaluate(e => {
        const [a, b] = [e, e.closest('.cm-scroller')].map(x => x.getBoundingClientRect())
        return a.top >= b.top && a.bottom <= b.bottom
      }),
    )

    // Two waits follow each other in the same pane. A form that is invalid says so.
    await edit(page, 'two')
    await typeChange(page)
    const both = await startTest(page)
    await answer.click()
    await pane(page).getByRole('heading', {name: 'Is the date right?'}).waitFor()
    await pane(page).getByRole('button', {name: 'How many guests?'}).click()
    await pane(page).getByRole('heading', {name: 'How many guests?'}).waitFor()
    await pane(page).getByRole('button', {name: 'Is the date right?'}).click()
    await pane(page).getByRole('button', {name: 'Approve'}).click()
    await pane(page).getByText('Answered: approve').waitFor()
    await pane(page).getByRole('button', {name: 'How many guests?'}).click()
    await pane(page).getByLabel('Guests').fill('1')
    await pane(page)
      .getByLabel('Guests')
      .evaluate(e => e.removeAttribute('min'))
    await pane(page).getByRole('button', {name: 'Send the answer'}).click()
    await pane(page).getByText('must be at least 2').waitFor()
    await pane(page).getByLabel('Guests').fill('3')
    await pane(page).getByRole('button', {name: 'Send the answer'}).click()
    await pane(page).waitFor({state: 'detached'})
    const answered = await ended(api, both)
    check(
      'both answers count',
      answered.status === 'completed' && answered.output.n === 3,
      JSON.stringify(answered.output),
    )
    await checkUnchanged(page, pathOf('two'))

    // On a phone the form covers the parts of the editor, which are one tab away, and controls are
    // large enough to touch. The last run of a workflow is answered there as well.
    const small = await open(phone)
    await signIn(small, origin, token)
    const waits = async id => {
      const run = await api('/runs?wait=20s', {workflow: id, input: 'Dear Ada'})
      await edit(small, id, '?pane=drawing')
      await small.getByRole('button', {name: 'Answer', exact: true}).click()
      await pane(small).getByRole('heading', {level: 1}).waitFor()
      await comfortable(small, `an answer of ${id} on a phone`, '[aria-label=Answer]')
      return run.id
    }
    const call = await waits('held')
    await pane(small).getByRole('region', {name: 'the arguments'}).getByText('Pay 5 to Bob').waitFor()
    await note(small).fill('it is due')
    await small.getByRole('tab', {name: 'Drawing'}).click()
    check('the drawing is in front', !(await pane(small).isVisible()))
    const behind = small.locator('[data-test] > button').last()
    check('what is in front takes the focus', await behind.evaluate(e => e.focus() ?? e === document.activeElement))
    await small.getByRole('tab', {name: 'Answer'}).click()
    await pane(small).waitFor()
    check('what is covered takes no focus', await behind.evaluate(e => e.focus() ?? e !== document.activeElement))
    await small.getByRole('tab', {name: 'Drawing'}).click()
    await small.locator('[data-state="waiting"]', {hasText: 'note'}).waitFor()
    await small.getByRole('tab', {name: 'Answer'}).click()
    check('the form is as it was', (await note(small).inputValue()) === 'it is due')
    await pane(small).getByRole('button', {name: 'Approve'}).click()
    await pane(small).waitFor({state: 'detached'})
    check('the held call is made', (await ended(api, call)).answers[0].note === 'it is due')
    await checkUnchanged(small, pathOf('held'), false)

    const used = await waits('budget')
    await pane(small).getByLabel('New total of calls').fill('5')
    await pane(small).getByRole('button', {name: 'Continue'}).click()
    await pane(small).waitFor({state: 'detached'})
    check('the run continues', (await ended(api, used)).status === 'completed')

    const unknown = await waits('lost')
    await pane(small).getByRole('button', {name: 'Skip'}).click()
    await pane(small).waitFor({state: 'detached'})
    check('the run continues after a lost call', (await ended(api, unknown)).status === 'completed')

    // A user without permission to approve sees a message there, too.
    allow(/status of 403/)
    const made = await api('/tokens', {name: 'writer', role: 'edit'})
    const writer = await open()
    await signIn(writer, origin, made.secret ?? made.token)
    await edit(writer, 'letter')
    await startTest(writer)
    await writer.getByRole('button', {name: 'Answer', exact: true}).click()
    await pane(writer)
      .getByText(/lacks the right to approve/)
      .waitFor()
    check('approving is not offered', await pane(writer).getByRole('button', {name: 'Approve'}).isDisabled())
  })
