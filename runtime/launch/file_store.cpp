#include "runtime/launch/file_store.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "runtime/launch/store_protocol.hpp"
#include "sim/error.hpp"

namespace foreshard::runtime {

namespace {

namespace files = std::filesystem;

constexpr const char* once = ".once";

/// Any text as part of a file's name, two texts never the same.
std::string file_name(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        const bool plain = std::isalnum(code) != 0 || c == '.' || c == '-';
        name += plain ? std::string(1, c) : fmt::format("_{:02x}", code);
    }
    return name;
}

}  // namespace

class FileStore::Impl {
public:
    Impl(const std::string& folder, const std::string& run_id, int rank)
        : folder_(folder), prefix_("foreshard." + file_name(run_id) + "_."), rank_(rank) {
        std::error_code error;
        files::create_directories(folder_, error);
        refuse_used(run_id);
        write(present(), {});
    }
    ~Impl();

    void set(const std::string& key, std::span<const std::byte> value, int reads) {
        write(reads == 1 ? key + once : key, value);
    }
    std::vector<std::byte> get(const std::string& key, std::chrono::duration<double> timeout);
    void fail(int rank, const std::string& reason);
    void check_failure() const;
    std::string where() const { return folder_.string(); }

private:
    std::string present() const { return "present." + std::to_string(rank_); }
    void refuse_used(const std::string& run_id) const;
    files::path path_of(const std::string& key) const { return folder_ / (prefix_ + file_name(key)); }
    void write(const std::string& key, std::span<const std::byte> value);
    static bool read(const files::path& path, std::vector<std::byte>& value);
    static bool take(const files::path& path, std::vector<std::byte>& value);

    files::path folder_;
    std::string prefix_;
    int rank_;
    std::mutex mutex_;
    std::vector<files::path> written_;
};

/// A run that ended well took its files away.
void FileStore::Impl::refuse_used(const std::string& run_id) const {
    std::error_code ignored;
    if (!files::exists(path_of(present()), ignored)) return;
    throw InputError("--run-id", "",
                     fmt::format("'{}': {} is there already: a run of this name broke off, or two processes are rank "
                                 "{}; take another name, or remove {}*",
                                 run_id, path_of(present()).string(), rank_, (folder_ / prefix_).string()));
}

/// Under another name first: who sees the file sees it whole.
void FileStore::Impl::write(const std::string& key, std::span<const std::byte> value) {
    const files::path path = path_of(key);
    const files::path hidden = path.string() + fmt::format(".part-{}", rank_);
    bool written = false;
    {
        std::ofstream out(hidden, std::ios::binary | std::ios::trunc);
        out.write(reinterpret_cast<const char*>(value.data()), static_cast<std::streamsize>(value.size()));
        out.close();
        written = !out.fail();
    }
    std::error_code error;
    if (written) files::rename(hidden, path, error);
    if (!written || error) {
        throw TransportError(rank_, fmt::format("rank {} cannot write {}: {}", rank_, path.string(),
                                                error ? error.message() : "is the folder there and writable?"));
    }
    if (key.ends_with(once)) return;
    const std::lock_guard<std::mutex> held(mutex_);
    written_.push_back(path);
}

bool FileStore::Impl::read(const files::path& path, std::vector<std::byte>& value) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    if (!in) return false;
    value.resize(static_cast<std::size_t>(in.tellg()));
    in.seekg(0);
    in.read(reinterpret_cast<char*>(value.data()), static_cast<std::streamsize>(value.size()));
    return !in.fail();
}

/// Of what is read once the reader removes the file: the writer may have ended by then.
bool FileStore::Impl::take(const files::path& path, std::vector<std::byte>& value) {
    if (!read(path, value)) return false;
    std::error_code ignored;
    files::remove(path, ignored);
    return true;
}

void FileStore::Impl::check_failure() const {
    std::vector<std::byte> told;
    if (!read(path_of("failure"), told)) return;
    const std::string text = text_of(told);
    const std::size_t space = text.find(' ');
    throw TransportError(std::atoi(text.c_str()), space == std::string::npos ? text : text.substr(space + 1));
}

std::vector<std::byte> FileStore::Impl::get(const std::string& key, std::chrono::duration<double> timeout) {
    constexpr std::chrono::milliseconds longest_pause{50};
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
    std::chrono::milliseconds pause{1};
    std::vector<std::byte> value;
    while (!read(path_of(key), value) && !take(path_of(key + once), value)) {
        check_failure();
        if (Clock::now() >= deadline) {
            throw TransportError(rank_, fmt::format("rank {}: nobody wrote {} within {:g} s. Do all hosts see this "
                                                    "folder, and have all processes the same --run-id?",
                                                    rank_, path_of(key).string(), timeout.count()));
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, longest_pause);
    }
    return value;
}

void FileStore::Impl::fail(int rank, const std::string& reason) {
    try {
        if (!files::exists(path_of("failure"))) write("failure", bytes_of(fmt::format("{} {}", rank, reason)));
    } catch (const std::exception&) {
        return;  // others end at their timeout
    }
}

FileStore::Impl::~Impl() {
    std::error_code ignored;
    for (const files::path& path : written_) files::remove(path, ignored);
}

FileStore::FileStore(const std::string& folder, const std::string& run_id, int rank)
    : impl_(std::make_unique<Impl>(folder, run_id, rank)) {}

FileStore::~FileStore() = default;

Store FileStore::store() {
    Impl& impl = *impl_;
    Store store = store_of(impl);
    store.check = [&impl] { impl.check_failure(); };
    return store;
}

}  // namespace foreshard::runtime
