#include "cli/child_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error.hpp"

namespace foreshard::cli {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kept_bytes = 4000;
constexpr std::chrono::seconds patience{5};

/// The write end goes to the child as its stderr.
struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() {
        if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    void close_end(int end) {
        if (ends[end] >= 0) close(ends[end]);
        ends[end] = -1;
    }
};

struct FileActions {
    posix_spawn_file_actions_t actions{};
    FileActions() { posix_spawn_file_actions_init(&actions); }
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
};

pid_t start(const std::vector<std::string>& arguments, int error_end) {
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    FileActions files;
    posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files.actions, error_end, STDERR_FILENO);
    pid_t child = -1;
    const int error = posix_spawnp(&child, words.front(), &files.actions, nullptr, words.data(), environ);
    if (error != 0) {
        throw InputError(arguments.front(), "", "cannot be started: " + std::generic_category().message(error));
    }
    return child;
}

/// False at its end.
bool read_more(int from, std::string& kept) {
    std::array<char, 4096> buffer{};
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count < 0) return errno == EINTR;
    kept.append(buffer.data(), static_cast<std::size_t>(count));
    if (kept.size() > 2 * kept_bytes) kept.erase(0, kept.size() - kept_bytes);
    return count > 0;
}

/// Tells the child to end once `stop` is set, and makes it end when it does not.
class Ending {
public:
    explicit Ending(pid_t child) : child_(child) {}

    void look(bool stop) {
        if (!stop || killed_) return;
        if (!told_) {
            told_ = Clock::now();
            kill(child_, SIGTERM);
        } else if (Clock::now() - *told_ > patience) {
            killed_ = true;
            kill(child_, SIGKILL);
        }
    }
    bool told() const { return told_.has_value(); }

private:
    pid_t child_;
    std::optional<Clock::time_point> told_;
    bool killed_ = false;
};

bool is_program(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, const std::atomic<bool>& stop) {
    constexpr int moment_ms = 100;
    Pipe errors;
    const pid_t child = start(arguments, errors.ends[1]);
    errors.close_end(1);
    Ending ending(child);
    ChildResult result;
    int status = 0;
    bool ended = false;
    while (!ended) {
        ending.look(stop.load());
        pollfd ready{errors.ends[0], POLLIN, 0};
        const bool open = errors.ends[0] >= 0;
        const int count = poll(&ready, open ? 1 : 0, moment_ms);
        if (open && count > 0 && !read_more(errors.ends[0], result.last_lines)) errors.close_end(0);
        ended = waitpid(child, &status, WNOHANG) == child;
    }
    while (errors.ends[0] >= 0) {
        pollfd ready{errors.ends[0], POLLIN, 0};
        if (poll(&ready, 1, 0) <= 0 || !read_more(errors.ends[0], result.last_lines)) errors.close_end(0);
    }
    result.stopped = ending.told();
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

std::string find_program(const std::string& name, const char* variable) {
    const char* set = variable != nullptr ? std::getenv(variable) : nullptr;
    if (set != nullptr && *set != '\0') {
        if (!is_program(set)) throw InputError(variable, "", fmt::format("{}: is no program", set));
        return set;
    }
    std::error_code error;
    const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path() / name;
    if (!error && is_program(beside)) return beside.string();
    const char* path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (is_program(fs::path(folder) / name)) return (fs::path(folder) / name).string();
    }
    return "";
}

}  // namespace foreshard::cli
