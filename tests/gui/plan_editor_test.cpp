#include "gui/editor/plan_editor.hpp"

#include <QComboBox>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {
namespace {

using testing::ElementsAre;

std::set<std::string> offeredFields() {
    std::set<std::string> names;
    for (const FieldGroup& group : fieldGroups()) {
        for (const PlanField& field : group.fields) EXPECT_TRUE(names.emplace(field.name).second) << field.name;
    }
    return names;
}

/// A field that files can say but the editor does not show could not be seen, nor changed.
TEST(PlanFields, TheEditorOffersEveryFieldOfAJob) {
    const std::set<std::string> offered = offeredFields();
    const auto look = [&](const char* name, auto /*member*/) {
        const std::string field(name);
        if (field == "global_batch_size" || field == "micro_batch_size") return;
        EXPECT_TRUE(offered.contains(field)) << field;
    };
    visit_plan_fields(look);
    visit_batch_fields(look);
    visit_model_fields(look);
    for (const char* name : {"model", "cluster", "software", "gpus", "gbs", "mbs", "stage_times", "schedule_file"}) {
        EXPECT_TRUE(offered.contains(name)) << name;
    }
    for (const std::string& name : offered) EXPECT_NO_THROW(request_value({}, name)) << name;
}

TEST(PlanFields, EveryOfferedChoiceIsAccepted) {
    for (const FieldGroup& group : fieldGroups()) {
        for (const PlanField& field : group.fields) {
            if (field.kind != FieldKind::choice && field.kind != FieldKind::open_choice) continue;
            EXPECT_FALSE(choices(field.name).empty()) << field.name;
            for (const std::string& value : choices(field.name)) EXPECT_NO_THROW(with_value({}, field.name, value));
        }
    }
}

TEST(PlanFields, MessagesStandAtTheFirstFieldOfARule) {
    EXPECT_THAT(messagesOf({{"global_batch_size, micro_batch_size, dp", "64 is no multiple", "72"}}),
                ElementsAre(FieldMessage{"gbs", "64 is no multiple. Nearest: 72"}));
    EXPECT_EQ(messageOf("--recompute-num-layers", "text"), (FieldMessage{"recompute_num_layers", "text"}));
    EXPECT_EQ(messageOf("some/file.json", "text"), (FieldMessage{"", "text"}));
}

TEST(History, GoesBackAndForthAndForgetsWhatWasUndone) {
    History history(JobRequest{});
    EXPECT_FALSE(history.canUndo());
    history.push(with_value({}, "tp", "2"));
    history.push(with_value({}, "tp", "4"));
    history.undo();
    EXPECT_EQ(history.current().tp, 2);
    history.redo();
    EXPECT_EQ(history.current().tp, 4);
    history.undo();
    history.push(with_value({}, "tp", "8"));
    EXPECT_FALSE(history.canRedo());
    history.undo();
    history.undo();
    history.undo();
    EXPECT_FALSE(history.current().tp);
}

class PlanEditorTest : public testing::Test {
protected:
    PlanEditorTest() { editor_.setRequest(load_job_request("gpt3-175b-selene-64")); }

    template <class Widget>
    Widget* field(const char* name) {
        return editor_.findChild<Widget*>(name);
    }

    PlanEditor editor_;
};

TEST_F(PlanEditorTest, ShowsThePlan) {
    EXPECT_EQ(field<StepBox>("tp")->value(), 8);
    EXPECT_EQ(field<QComboBox>("schedule")->currentText(), "interleaved-1f1b");
    EXPECT_EQ(field<QComboBox>("model")->currentText(), "gpt3-175b");
    EXPECT_EQ(field<QComboBox>("sp")->currentText(), "on");
    EXPECT_EQ(field<QLineEdit>("layout")->text(), "");
}

TEST_F(PlanEditorTest, EditsAreSignalledOnceAndUndone) {
    QSignalSpy changed(&editor_, &PlanEditor::requestChanged);
    field<StepBox>("pp")->stepBy(1);
    EXPECT_EQ(editor_.request().pp, 16);
    EXPECT_EQ(changed.count(), 1);
    QComboBox* schedule = field<QComboBox>("schedule");
    schedule->setCurrentText("zb-h1");
    emit schedule->activated(schedule->currentIndex());
    EXPECT_EQ(editor_.request().schedule, "zb-h1");
    editor_.undo();
    EXPECT_EQ(schedule->currentText(), "interleaved-1f1b");
    editor_.undo();
    EXPECT_EQ(editor_.request().pp, 8);
    EXPECT_FALSE(editor_.canUndo());
    editor_.redo();
    EXPECT_EQ(field<StepBox>("pp")->value(), 16);
    EXPECT_EQ(changed.count(), 5);
}

TEST_F(PlanEditorTest, KeysEditFields) {
    auto* layout = field<QLineEdit>("layout");
    QTest::keyClicks(layout, "7,8");
    QTest::keyClick(layout, Qt::Key_Return);
    EXPECT_EQ(editor_.request().layout, "7,8");
    auto* tp = field<StepBox>("tp");
    QTest::keyClick(tp, Qt::Key_Up);
    EXPECT_EQ(editor_.request().tp, 16);
    QTest::keyClick(tp, Qt::Key_Down);
    QTest::keyClick(tp, Qt::Key_Down);
    EXPECT_EQ(editor_.request().tp, 4);
}

/// What is no number stays in the field with its message; the plan stays as it was.
TEST_F(PlanEditorTest, TextOfTheWrongTypeIsToldAtTheField) {
    QSignalSpy changed(&editor_, &PlanEditor::requestChanged);
    auto* bucket = field<QLineEdit>("bucket_mb");
    QTest::keyClicks(bucket, "big");
    QTest::keyClick(bucket, Qt::Key_Return);
    EXPECT_THAT(editor_.shownMessages(), ElementsAre(FieldMessage{"bucket_mb", "--bucket-mb: 'big' is not a number"}));
    EXPECT_EQ(bucket->text(), "big");
    EXPECT_EQ(changed.count(), 0);
}

TEST_F(PlanEditorTest, MessagesOfTheWholePlanStandAtTheTop) {
    editor_.setMessages({{"tp", "one"}, {"", "two"}, {"tp", "three"}});
    EXPECT_THAT(editor_.shownMessages(), ElementsAre(FieldMessage{"tp", "one\nthree"}, FieldMessage{"", "two"}));
    editor_.setMessages({});
    EXPECT_THAT(editor_.shownMessages(), testing::IsEmpty());
}

TEST_F(PlanEditorTest, DefaultsTellWhatTheyCameTo) {
    editor_.setJob(resolve(load_job_request("gpt3-175b-selene-64")));
    EXPECT_EQ(field<StepBox>("cp")->specialValueText(), "default: 1");
    EXPECT_EQ(field<QComboBox>("zero")->itemText(0), "default: 0");
    field<StepBox>("cp")->stepBy(1);
    EXPECT_EQ(editor_.request().cp, 2);
}

TEST_F(PlanEditorTest, EveryFieldHasANameForScreenReaders) {
    for (const std::string& name : offeredFields()) {
        const auto* widget = field<QWidget>(name.c_str());
        ASSERT_NE(widget, nullptr) << name;
        EXPECT_FALSE(widget->accessibleName().isEmpty()) << name;
        EXPECT_NE(widget->focusPolicy(), Qt::NoFocus) << name;
    }
}

}  // namespace
}  // namespace foreshard::gui
